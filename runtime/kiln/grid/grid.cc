#include "kiln/grid/grid.h"

namespace kiln::inline KILN_ABI {

template class Grid<1>;
template class Grid<2>;
template class Grid<3>;
template class Grid<4>;

}  // namespace kiln::inline KILN_ABI
