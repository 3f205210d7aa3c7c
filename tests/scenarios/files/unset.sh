#!/bin/bash
HIDDEN=64
GPT_ARGS=(
    --num-layers 8
    --hidden-size $HIDDEN
    --num-attention-heads $HEADS
)
torchrun --nproc_per_node 8 pretrain_gpt.py "${GPT_ARGS[@]}"
