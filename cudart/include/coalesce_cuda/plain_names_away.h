// Names that these headers use and that are not reserved. A program's macros of these names (-DN=5) are put aside while
// a header is read: this one first, plain_names_back.h last. So there is no #pragma once.
// clang-format off
_Pragma("push_macro(\"A\")") _Pragma("push_macro(\"Add\")") _Pragma("push_macro(\"And\")")
_Pragma("push_macro(\"Arguments\")") _Pragma("push_macro(\"B\")") _Pragma("push_macro(\"Bytes\")")
_Pragma("push_macro(\"C\")") _Pragma("push_macro(\"Column\")") _Pragma("push_macro(\"Constant\")")
_Pragma("push_macro(\"Count\")") _Pragma("push_macro(\"D\")") _Pragma("push_macro(\"Dec\")")
_Pragma("push_macro(\"ECCEnabled\")") _Pragma("push_macro(\"Element\")") _Pragma("push_macro(\"Exch\")")
_Pragma("push_macro(\"F\")") _Pragma("push_macro(\"Factors\")") _Pragma("push_macro(\"From\")")
_Pragma("push_macro(\"Global\")") _Pragma("push_macro(\"Group\")") _Pragma("push_macro(\"Host\")")
_Pragma("push_macro(\"Inc\")") _Pragma("push_macro(\"K\")") _Pragma("push_macro(\"Kernel\")")
_Pragma("push_macro(\"Kind\")") _Pragma("push_macro(\"L\")") _Pragma("push_macro(\"LOAD\")")
_Pragma("push_macro(\"Label\")") _Pragma("push_macro(\"Layout\")") _Pragma("push_macro(\"Local\")")
_Pragma("push_macro(\"M\")") _Pragma("push_macro(\"MMA\")") _Pragma("push_macro(\"Max\")")
_Pragma("push_macro(\"Memcpy\")") _Pragma("push_macro(\"Memset\")") _Pragma("push_macro(\"Min\")")
_Pragma("push_macro(\"N\")") _Pragma("push_macro(\"Or\")") _Pragma("push_macro(\"P\")") _Pragma("push_macro(\"PA\")")
_Pragma("push_macro(\"PC\")") _Pragma("push_macro(\"PD\")") _Pragma("push_macro(\"Packed\")")
_Pragma("push_macro(\"Parent\")") _Pragma("push_macro(\"Product\")") _Pragma("push_macro(\"R\")")
_Pragma("push_macro(\"Reduced\")") _Pragma("push_macro(\"S\")") _Pragma("push_macro(\"STORE\")")
_Pragma("push_macro(\"Shared\")") _Pragma("push_macro(\"Shuffle\")") _Pragma("push_macro(\"Size\")")
_Pragma("push_macro(\"Stages\")") _Pragma("push_macro(\"Sums\")") _Pragma("push_macro(\"T\")")
_Pragma("push_macro(\"To\")") _Pragma("push_macro(\"Two\")") _Pragma("push_macro(\"U\")")
_Pragma("push_macro(\"Use\")") _Pragma("push_macro(\"V\")") _Pragma("push_macro(\"Wide\")")
_Pragma("push_macro(\"Word\")") _Pragma("push_macro(\"Words\")") _Pragma("push_macro(\"Xor\")")
_Pragma("push_macro(\"a\")") _Pragma("push_macro(\"above\")") _Pragma("push_macro(\"accumulator\")")
_Pragma("push_macro(\"add\")") _Pragma("push_macro(\"address\")") _Pragma("push_macro(\"advice\")")
_Pragma("push_macro(\"align2\")") _Pragma("push_macro(\"align4\")") _Pragma("push_macro(\"aligned\")")
_Pragma("push_macro(\"all\")") _Pragma("push_macro(\"always_inline\")") _Pragma("push_macro(\"any\")")
_Pragma("push_macro(\"args\")") _Pragma("push_macro(\"arguments\")") _Pragma("push_macro(\"as\")")
_Pragma("push_macro(\"asin_far\")") _Pragma("push_macro(\"asin_tail\")") _Pragma("push_macro(\"assign2\")")
_Pragma("push_macro(\"assign4\")") _Pragma("push_macro(\"atomic\")") _Pragma("push_macro(\"attribute\")")
_Pragma("push_macro(\"attributes\")") _Pragma("push_macro(\"attrs\")") _Pragma("push_macro(\"ax\")")
_Pragma("push_macro(\"ay\")") _Pragma("push_macro(\"b\")") _Pragma("push_macro(\"b1\")")
_Pragma("push_macro(\"ballot\")") _Pragma("push_macro(\"base\")") _Pragma("push_macro(\"before\")")
_Pragma("push_macro(\"begin\")") _Pragma("push_macro(\"below\")") _Pragma("push_macro(\"best\")")
_Pragma("push_macro(\"bfly\")") _Pragma("push_macro(\"bit_and\")") _Pragma("push_macro(\"bit_or\")")
_Pragma("push_macro(\"bit_xor\")") _Pragma("push_macro(\"bits\")") _Pragma("push_macro(\"block\")")
_Pragma("push_macro(\"block_index\")") _Pragma("push_macro(\"block_rank\")") _Pragma("push_macro(\"block_size\")")
_Pragma("push_macro(\"blocks\")") _Pragma("push_macro(\"bmma_sync\")") _Pragma("push_macro(\"builtin\")")
_Pragma("push_macro(\"bx\")") _Pragma("push_macro(\"by\")") _Pragma("push_macro(\"by_rank\")")
_Pragma("push_macro(\"by_words\")") _Pragma("push_macro(\"bytes\")") _Pragma("push_macro(\"bytes_of\")")
_Pragma("push_macro(\"c\")") _Pragma("push_macro(\"callback\")") _Pragma("push_macro(\"can\")")
_Pragma("push_macro(\"cas_gen_\")") _Pragma("push_macro(\"cells\")") _Pragma("push_macro(\"char4\")")
_Pragma("push_macro(\"char_size\")") _Pragma("push_macro(\"child\")") _Pragma("push_macro(\"clock\")")
_Pragma("push_macro(\"clock64\")") _Pragma("push_macro(\"clone\")") _Pragma("push_macro(\"col_major\")")
_Pragma("push_macro(\"config\")") _Pragma("push_macro(\"constant\")") _Pragma("push_macro(\"constructor\")")
_Pragma("push_macro(\"cooperative\")") _Pragma("push_macro(\"copy\")") _Pragma("push_macro(\"copy_words\")")
_Pragma("push_macro(\"correction\")") _Pragma("push_macro(\"cos_of\")") _Pragma("push_macro(\"cos_small\")")
_Pragma("push_macro(\"cospi\")") _Pragma("push_macro(\"cospif\")") _Pragma("push_macro(\"count\")")
_Pragma("push_macro(\"cta_\")") _Pragma("push_macro(\"ctaid\")") _Pragma("push_macro(\"cx\")")
_Pragma("push_macro(\"cy\")") _Pragma("push_macro(\"d\")") _Pragma("push_macro(\"data\")")
_Pragma("push_macro(\"data_bytes\")") _Pragma("push_macro(\"dec\")") _Pragma("push_macro(\"depth\")")
_Pragma("push_macro(\"desired\")") _Pragma("push_macro(\"destination\")") _Pragma("push_macro(\"detail\")")
_Pragma("push_macro(\"device\")") _Pragma("push_macro(\"devices\")") _Pragma("push_macro(\"dim3\")")
_Pragma("push_macro(\"dim_blocks\")") _Pragma("push_macro(\"dim_threads\")") _Pragma("push_macro(\"div_\")")
_Pragma("push_macro(\"divide\")") _Pragma("push_macro(\"double2\")") _Pragma("push_macro(\"down\")")
_Pragma("push_macro(\"dptr\")") _Pragma("push_macro(\"dst\")") _Pragma("push_macro(\"e\")")
_Pragma("push_macro(\"ea\")") _Pragma("push_macro(\"eb\")") _Pragma("push_macro(\"element_type\")")
_Pragma("push_macro(\"enable_if\")") _Pragma("push_macro(\"enabled\")") _Pragma("push_macro(\"end\")")
_Pragma("push_macro(\"eq\")") _Pragma("push_macro(\"erf_near\")") _Pragma("push_macro(\"erfc_far\")")
_Pragma("push_macro(\"erfcx\")") _Pragma("push_macro(\"erfcx_far\")") _Pragma("push_macro(\"error\")")
_Pragma("push_macro(\"event\")") _Pragma("push_macro(\"exec\")") _Pragma("push_macro(\"executable\")")
_Pragma("push_macro(\"exp_half\")") _Pragma("push_macro(\"expected\")") _Pragma("push_macro(\"experimental\")")
_Pragma("push_macro(\"exponent\")") _Pragma("push_macro(\"expression\")") _Pragma("push_macro(\"extent\")")
_Pragma("push_macro(\"extra\")") _Pragma("push_macro(\"f\")") _Pragma("push_macro(\"far\")")
_Pragma("push_macro(\"fast_sum\")") _Pragma("push_macro(\"fdividef\")") _Pragma("push_macro(\"file\")")
_Pragma("push_macro(\"first\")") _Pragma("push_macro(\"first_lane\")") _Pragma("push_macro(\"firsts\")")
_Pragma("push_macro(\"flags\")") _Pragma("push_macro(\"float2\")") _Pragma("push_macro(\"fma_\")")
_Pragma("push_macro(\"fn\")") _Pragma("push_macro(\"format\")") _Pragma("push_macro(\"fragment\")")
_Pragma("push_macro(\"free\")") _Pragma("push_macro(\"from\")") _Pragma("push_macro(\"from_count\")")
_Pragma("push_macro(\"from_device\")") _Pragma("push_macro(\"from_pitch\")") _Pragma("push_macro(\"from_port\")")
_Pragma("push_macro(\"func\")") _Pragma("push_macro(\"function\")") _Pragma("push_macro(\"ge\")")
_Pragma("push_macro(\"ges\")") _Pragma("push_macro(\"get\")") _Pragma("push_macro(\"get_x\")")
_Pragma("push_macro(\"get_y\")") _Pragma("push_macro(\"get_z\")") _Pragma("push_macro(\"geu\")")
_Pragma("push_macro(\"global\")") _Pragma("push_macro(\"graph\")") _Pragma("push_macro(\"greater\")")
_Pragma("push_macro(\"greatest\")") _Pragma("push_macro(\"grid\")") _Pragma("push_macro(\"grid_group\")")
_Pragma("push_macro(\"grid_rounds\")") _Pragma("push_macro(\"group\")") _Pragma("push_macro(\"group_dim\")")
_Pragma("push_macro(\"group_index\")") _Pragma("push_macro(\"gt\")") _Pragma("push_macro(\"gts\")")
_Pragma("push_macro(\"gtu\")") _Pragma("push_macro(\"h\")") _Pragma("push_macro(\"h2\")")
_Pragma("push_macro(\"half\")") _Pragma("push_macro(\"half2\")") _Pragma("push_macro(\"handle\")")
_Pragma("push_macro(\"height\")") _Pragma("push_macro(\"hi\")") _Pragma("push_macro(\"host\")")
_Pragma("push_macro(\"how\")") _Pragma("push_macro(\"hypotenuse\")") _Pragma("push_macro(\"i\")")
_Pragma("push_macro(\"id\")") _Pragma("push_macro(\"idx\")") _Pragma("push_macro(\"imag\")")
_Pragma("push_macro(\"inc\")") _Pragma("push_macro(\"index\")") _Pragma("push_macro(\"infix\")")
_Pragma("push_macro(\"instruction\")") _Pragma("push_macro(\"integrated\")") _Pragma("push_macro(\"is_block\")")
_Pragma("push_macro(\"is_grid\")") _Pragma("push_macro(\"is_infinite\")") _Pragma("push_macro(\"is_integral\")")
_Pragma("push_macro(\"is_nan\")") _Pragma("push_macro(\"is_valid\")") _Pragma("push_macro(\"isfinite\")")
_Pragma("push_macro(\"k\")") _Pragma("push_macro(\"keep\")") _Pragma("push_macro(\"kernel\")")
_Pragma("push_macro(\"kind\")") _Pragma("push_macro(\"l\")") _Pragma("push_macro(\"label\")")
_Pragma("push_macro(\"lane\")") _Pragma("push_macro(\"lane_of\")") _Pragma("push_macro(\"lanes\")")
_Pragma("push_macro(\"lanes_of\")") _Pragma("push_macro(\"last\")") _Pragma("push_macro(\"launch_bounds\")")
_Pragma("push_macro(\"layout\")") _Pragma("push_macro(\"layout_t\")") _Pragma("push_macro(\"le\")")
#undef A
#undef Add
#undef And
#undef Arguments
#undef B
#undef Bytes
#undef C
#undef Column
#undef Constant
#undef Count
#undef D
#undef Dec
#undef ECCEnabled
#undef Element
#undef Exch
#undef F
#undef Factors
#undef From
#undef Global
#undef Group
#undef Host
#undef Inc
#undef K
#undef Kernel
#undef Kind
#undef L
#undef LOAD
#undef Label
#undef Layout
#undef Local
#undef M
#undef MMA
#undef Max
#undef Memcpy
#undef Memset
#undef Min
#undef N
#undef Or
#undef P
#undef PA
#undef PC
#undef PD
#undef Packed
#undef Parent
#undef Product
#undef R
#undef Reduced
#undef S
#undef STORE
#undef Shared
#undef Shuffle
#undef Size
#undef Stages
#undef Sums
#undef T
#undef To
#undef Two
#undef U
#undef Use
#undef V
#undef Wide
#undef Word
#undef Words
#undef Xor
#undef a
#undef above
#undef accumulator
#undef add
#undef address
#undef advice
#undef align2
#undef align4
#undef aligned
#undef all
#undef always_inline
#undef any
#undef args
#undef arguments
#undef as
#undef asin_far
#undef asin_tail
#undef assign2
#undef assign4
#undef atomic
#undef attribute
#undef attributes
#undef attrs
#undef ax
#undef ay
#undef b
#undef b1
#undef ballot
#undef base
#undef before
#undef begin
#undef below
#undef best
#undef bfly
#undef bit_and
#undef bit_or
#undef bit_xor
#undef bits
#undef block
#undef block_index
#undef block_rank
#undef block_size
#undef blocks
#undef bmma_sync
#undef builtin
#undef bx
#undef by
#undef by_rank
#undef by_words
#undef bytes
#undef bytes_of
#undef c
#undef callback
#undef can
#undef cas_gen_
#undef cells
#undef char4
#undef char_size
#undef child
#undef clock
#undef clock64
#undef clone
#undef col_major
#undef config
#undef constant
#undef constructor
#undef cooperative
#undef copy
#undef copy_words
#undef correction
#undef cos_of
#undef cos_small
#undef cospi
#undef cospif
#undef count
#undef cta_
#undef ctaid
#undef cx
#undef cy
#undef d
#undef data
#undef data_bytes
#undef dec
#undef depth
#undef desired
#undef destination
#undef detail
#undef device
#undef devices
#undef dim3
#undef dim_blocks
#undef dim_threads
#undef div_
#undef divide
#undef double2
#undef down
#undef dptr
#undef dst
#undef e
#undef ea
#undef eb
#undef element_type
#undef enable_if
#undef enabled
#undef end
#undef eq
#undef erf_near
#undef erfc_far
#undef erfcx
#undef erfcx_far
#undef error
#undef event
#undef exec
#undef executable
#undef exp_half
#undef expected
#undef experimental
#undef exponent
#undef expression
#undef extent
#undef extra
#undef f
#undef far
#undef fast_sum
#undef fdividef
#undef file
#undef first
#undef first_lane
#undef firsts
#undef flags
#undef float2
#undef fma_
#undef fn
#undef format
#undef fragment
#undef free
#undef from
#undef from_count
#undef from_device
#undef from_pitch
#undef from_port
#undef func
#undef function
#undef ge
#undef ges
#undef get
#undef get_x
#undef get_y
#undef get_z
#undef geu
#undef global
#undef graph
#undef greater
#undef greatest
#undef grid
#undef grid_group
#undef grid_rounds
#undef group
#undef group_dim
#undef group_index
#undef gt
#undef gts
#undef gtu
#undef h
#undef h2
#undef half
#undef half2
#undef handle
#undef height
#undef hi
#undef host
#undef how
#undef hypotenuse
#undef i
#undef id
#undef idx
#undef imag
#undef inc
#undef index
#undef infix
#undef instruction
#undef integrated
#undef is_block
#undef is_grid
#undef is_infinite
#undef is_integral
#undef is_nan
#undef is_valid
#undef isfinite
#undef k
#undef keep
#undef kernel
#undef kind
#undef l
#undef label
#undef lane
#undef lane_of
#undef lanes
#undef lanes_of
#undef last
#undef launch_bounds
#undef layout
#undef layout_t
#undef le
#include "plain_names_away_2.h"
