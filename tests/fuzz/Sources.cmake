# What the fuzz targets need of each library: what reads files of others, and what simulates.
set(PENSTOCK_ONLY "^(sim|hardware_models)/|^schedules/([a-z0-9_]*.cpp|patterns/|policies/|partitioners/)")
string(APPEND PENSTOCK_ONLY "|^validate/(wire|statistics|machine|store)/")
string(APPEND PENSTOCK_ONLY "|^experiments/(input/|run/layout/|run/batch/|run/[a-z_]*.cpp)")
string(APPEND PENSTOCK_ONLY "|^experiments/plan/sweeps/(space/|row_text|tables/row_table)")
