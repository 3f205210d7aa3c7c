#include "validate/backends/cuda/cuda_kernels.hpp"

#if __has_include(<cublasLt.h>)

#include <cublasLt.h>
#include <dlfcn.h>

#include <memory>
#include <string>

#include "validate/backends/cuda/gpu_libraries.hpp"

namespace penstock {

struct GpuProductTag {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr;
  cublasLtMatrixLayout_t b = nullptr;
  cublasLtMatrixLayout_t c = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
  float beta = 0;  // 1: adds to C
};

namespace {

struct LibraryCalls {
  decltype(&cublasLtGetVersion) version = nullptr;
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtMatmul) multiply = nullptr;
  decltype(&cublasLtMatmulDescCreate) make_operation = nullptr;
  decltype(&cublasLtMatmulDescDestroy) free_operation = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_operation = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) make_layout = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) free_layout = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) make_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) free_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) choose = nullptr;
  std::string file;
  std::string why_not;  // "" when all are there
};

LibraryCalls loaded() {
  LibraryCalls all;
  const std::string soname = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  const GpuLibrary found = load_library(places_of_library(soname), "cublasLtGetVersion");
  if (found.handle == nullptr) {
    all.why_not = soname + " was not found: set CUDA_HOME or LD_LIBRARY_PATH";
    return all;
  }
  all.file = found.file;
  const auto find = [&](const char* name, auto& function) {
    void* const symbol = dlsym(found.handle, name);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol);
    if (function == nullptr) all.why_not = soname + " has no " + name;
  };
  find("cublasLtGetVersion", all.version);
  find("cublasLtCreate", all.create);
  find("cublasLtMatmul", all.multiply);
  find("cublasLtMatmulDescCreate", all.make_operation);
  find("cublasLtMatmulDescDestroy", all.free_operation);
  find("cublasLtMatmulDescSetAttribute", all.set_operation);
  find("cublasLtMatrixLayoutCreate", all.make_layout);
  find("cublasLtMatrixLayoutDestroy", all.free_layout);
  find("cublasLtMatrixLayoutSetAttribute", all.set_layout);
  find("cublasLtMatmulPreferenceCreate", all.make_preference);
  find("cublasLtMatmulPreferenceDestroy", all.free_preference);
  find("cublasLtMatmulPreferenceSetAttribute", all.set_preference);
  find("cublasLtMatmulAlgoGetHeuristic", all.choose);
  if (!all.why_not.empty()) return all;
  const std::size_t version = all.version();
  if (version / 10'000 != CUBLAS_VER_MAJOR) {
    all.why_not = soname + " is version " + std::to_string(version) + ", expected major " +
                  std::to_string(CUBLAS_VER_MAJOR);
  }
  return all;
}

const LibraryCalls& library() {
  static const LibraryCalls calls = loaded();
  return calls;
}

int told(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? 0 : first_product_error + static_cast<int>(status);
}

/// Made after the device is ready.
int handle(cublasLtHandle_t* made) {
  static cublasLtHandle_t one = nullptr;
  if (one == nullptr) {
    if (const int error = told(library().create(&one))) return error;
  }
  *made = one;
  return 0;
}

int free_product(GpuProduct product) {
  if (product->a != nullptr) library().free_layout(product->a);
  if (product->b != nullptr) library().free_layout(product->b);
  if (product->c != nullptr) library().free_layout(product->c);
  if (product->operation != nullptr) library().free_operation(product->operation);
  delete product;
  return 0;
}

/// A matrix of `rows` * `columns`, or one stored transposed, `step` numbers behind the previous
/// one.
struct Stored {
  cudaDataType type;
  std::uint32_t rows;
  std::uint32_t columns;
  bool transposed;
  std::uint64_t step;
};

int make_layout(cublasLtMatrixLayout_t* made, const Stored& matrix, std::uint32_t batch) {
  const LibraryCalls& calls = library();
  const std::uint32_t rows = matrix.transposed ? matrix.columns : matrix.rows;
  const std::uint32_t columns = matrix.transposed ? matrix.rows : matrix.columns;
  if (const int error = told(calls.make_layout(made, matrix.type, rows, columns, rows))) {
    return error;
  }
  if (batch == 1) return 0;
  const auto count = static_cast<std::int32_t>(batch);
  if (const int error =
          told(calls.set_layout(*made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count))) {
    return error;
  }
  const auto step = static_cast<std::int64_t>(matrix.step);
  return told(
      calls.set_layout(*made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step));
}

int make_operation(GpuProductTag& product, const GpuProductShape& shape) {
  const LibraryCalls& calls = library();
  if (const int error =
          told(calls.make_operation(&product.operation, CUBLAS_COMPUTE_32F, CUDA_R_32F))) {
    return error;
  }
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, std::int32_t value) {
    return told(calls.set_operation(product.operation, attribute, &value, sizeof value));
  };
  const auto sms = static_cast<std::int32_t>(shape.sms);
  if (const int error = set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, sms)) return error;
  const auto stored = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  if (const int error = set(CUBLASLT_MATMUL_DESC_TRANSA, stored(shape.form.a_transposed))) {
    return error;
  }
  return set(CUBLASLT_MATMUL_DESC_TRANSB, stored(shape.form.b_transposed));
}

int describe(GpuProductTag& product, const GpuProductShape& shape) {
  const ProductForm& form = shape.form;
  product.beta = form.result == ProductResult::added ? 1.0F : 0.0F;
  if (const int error = make_operation(product, shape)) return error;
  if (const int error = make_layout(
          &product.a, {CUDA_R_16BF, shape.rows, shape.inner, form.a_transposed, form.a_step},
          form.batch)) {
    return error;
  }
  if (const int error = make_layout(
          &product.b, {CUDA_R_16BF, shape.inner, shape.columns, form.b_transposed, form.b_step},
          form.batch)) {
    return error;
  }
  const cudaDataType sums = form.result == ProductResult::rounded ? CUDA_R_16BF : CUDA_R_32F;
  return make_layout(&product.c, {sums, shape.rows, shape.columns, false, form.c_step}, form.batch);
}

int choose(GpuProductTag& product) {
  const LibraryCalls& calls = library();
  cublasLtHandle_t lt = nullptr;
  if (const int error = handle(&lt)) return error;
  cublasLtMatmulPreference_t preference = nullptr;
  if (const int error = told(calls.make_preference(&preference))) return error;
  const std::size_t most = product_workspace;
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  int error = told(calls.set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
                                        sizeof most));
  if (error == 0) {
    error = told(calls.choose(lt, product.operation, product.a, product.b, product.c, product.c,
                              preference, 1, &result, &found));
  }
  calls.free_preference(preference);
  if (error != 0) return error;
  if (found == 0) return told(CUBLAS_STATUS_NOT_SUPPORTED);
  product.algorithm = result.algo;
  return told(result.state);
}

int make_product(GpuProduct* made, const GpuProductShape& shape) {
  auto product = std::make_unique<GpuProductTag>();
  int error = describe(*product, shape);
  if (error == 0) error = choose(*product);
  GpuProduct const all = product.release();
  if (error != 0) {
    free_product(all);
    return error;
  }
  *made = all;
  return 0;
}

int launch_product(GpuStream stream, GpuProduct product, const GpuProductMemory& memory) {
  cublasLtHandle_t lt = nullptr;
  if (const int error = handle(&lt)) return error;
  const float one = 1;
  return told(library().multiply(lt, product->operation, &one, memory.a, product->a, memory.b,
                                 product->b, &product->beta, memory.c, product->c, memory.c,
                                 product->c, &product->algorithm, memory.workspace,
                                 product_workspace, native(stream)));
}

const char* product_library_file() { return library().file.c_str(); }

std::uint32_t product_library() { return static_cast<std::uint32_t>(library().version()); }

/// FNV-1a over the algorithm's bytes, which the library lets one store.
std::uint64_t product_algorithm(GpuProduct product) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const std::uint64_t word : product->algorithm.data) {
    for (int byte = 0; byte < 8; ++byte)
      hash = (hash ^ (word >> (8 * byte) & 0xFF)) * 0x100000001b3ULL;
  }
  return hash;
}

const char* why_no_products() { return library().why_not.c_str(); }

}  // namespace

void add_products(GpuCalls& calls) {
  calls.why_no_products = why_no_products;
  calls.make_product = make_product;
  calls.free_product = free_product;
  calls.launch_product = launch_product;
  calls.product_library = product_library;
  calls.product_library_file = product_library_file;
  calls.product_algorithm = product_algorithm;
}

const char* product_error_name(int error) {
  switch (error - first_product_error) {
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return error > first_product_error ? "a cuBLAS error" : nullptr;
  }
}

}  // namespace penstock

#else

namespace penstock {

void add_products(GpuCalls& calls) {
  calls.why_no_products = [] { return "this build had no cublasLt.h"; };
}

const char* product_error_name(int) { return nullptr; }

}  // namespace penstock

#endif
