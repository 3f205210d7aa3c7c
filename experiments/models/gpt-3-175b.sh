#!/bin/bash
# GPT-3 as the papers on Megatron-LM train it: 64 A100 of 80 GB, interleaved, selective recomputation.

GPT_ARGS=(
    --num-layers 96
    --hidden-size 12288
    --num-attention-heads 96
    --seq-length 2048
    --max-position-embeddings 2048
    --vocab-size 51200
    --transformer-impl local
)

PARALLEL_ARGS=(
    --tensor-model-parallel-size 8
    --pipeline-model-parallel-size 8
    --num-layers-per-virtual-pipeline-stage 4
    --sequence-parallel
    --micro-batch-size 1
    --global-batch-size 64
    --recompute-activations
    --bf16
)

torchrun --nproc_per_node 8 --nnodes 8 pretrain_gpt.py ${GPT_ARGS[@]} ${PARALLEL_ARGS[@]}
