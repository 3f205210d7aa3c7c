torchrun pretrain_gpt.py --num-layers 24 --num-attention-heads 16 --seq-length 2048
