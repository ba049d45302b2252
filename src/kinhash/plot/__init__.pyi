from .advice_chart import advice as advice
from .axes import INK as INK
from .axes import bare_page as bare_page
from .axes import png_of as png_of
from .axes import save_png as save_png
from .bit_charts import bits as bits
from .distance_charts import distances as distances
from .neighbor_rows import neighbors as neighbors
