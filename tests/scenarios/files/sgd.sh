#!/bin/bash
GPUS=8; PP=2; MBS=1
DP=$((GPUS / PP))
GPT_ARGS="
    --num-layers 4 --hidden-size 64 --ffn-hidden-size 128 --swiglu
    --num-attention-heads 4 --group-query-attention --num-query-groups 2
    --normalization RMSNorm --disable-bias-linear --position-embedding-type rope
    --untie-embeddings-and-output-weights --vocab-size 1000 --make-vocab-size-divisible-by 8
    --seq-length 128 --save $CHECKPOINT_PATH
    --micro-batch-size $MBS --global-batch-size $((DP * MBS * 4))
    --pipeline-model-parallel-size $PP --optimizer sgd --bf16"
run_cmd="python -u ${DIR}/pretrain_gpt.py ${GPT_ARGS}"
torchrun --nproc_per_node $GPUS sh -c "${run_cmd}"
