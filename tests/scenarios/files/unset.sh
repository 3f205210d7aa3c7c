#!/bin/bash
HIDDEN=64
GPT_ARGS=(
    --num-layers 8   # four of them on each rank
    --hidden-size $HIDDEN
    --num-attention-heads $HEADS
    --seq-length 128 --max-position-embeddings 128
    --vocab-size 1000 --make-vocab-size-divisible-by 8
    --transformer-impl local
    --micro-batch-size 2
    --global-batch-size 32
    --tensor-model-parallel-size 2
    --pipeline-model-parallel-size 2
    --num-layers-per-virtual-pipeline-stage 2
    --use-distributed-optimizer
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1
    --bf16
)
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py "${GPT_ARGS[@]}"
