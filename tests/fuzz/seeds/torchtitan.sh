torchrun --nnodes 2 --nproc_per_node=8 -m torchtitan.train --model.name llama3 --model.flavor 8B --parallelism.pipeline_parallel_degree 4 \
  --parallelism.pipeline_parallel_schedule Interleaved1F1B --training.local_batch_size 16 --training.seq_len 8192 --metrics.log_freq 1
