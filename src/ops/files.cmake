# The files of ops/ that libhdsops has operators of; catalogue.cmake says which.
set(ops_files activation arithmetic comparison creation detection functions indexing layout loss norm pooling quantize random
    reduction resize scan selection softmax sort)
