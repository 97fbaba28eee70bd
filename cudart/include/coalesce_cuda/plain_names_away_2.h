// The second half of plain_names_away.h.
// clang-format off
_Pragma("push_macro(\"least\")") _Pragma("push_macro(\"left\")") _Pragma("push_macro(\"length\")")
_Pragma("push_macro(\"les\")") _Pragma("push_macro(\"less\")") _Pragma("push_macro(\"letter\")")
_Pragma("push_macro(\"leu\")") _Pragma("push_macro(\"limit\")") _Pragma("push_macro(\"limits\")")
_Pragma("push_macro(\"list\")") _Pragma("push_macro(\"ll\")") _Pragma("push_macro(\"llmax\")")
_Pragma("push_macro(\"llmin\")") _Pragma("push_macro(\"lo\")") _Pragma("push_macro(\"load\")")
_Pragma("push_macro(\"local\")") _Pragma("push_macro(\"location\")") _Pragma("push_macro(\"log_two\")")
_Pragma("push_macro(\"longlong\")") _Pragma("push_macro(\"low\")") _Pragma("push_macro(\"lt\")")
_Pragma("push_macro(\"lts\")") _Pragma("push_macro(\"ltu\")") _Pragma("push_macro(\"luid\")")
_Pragma("push_macro(\"m\")") _Pragma("push_macro(\"m16n16k16\")") _Pragma("push_macro(\"m32n8k16\")")
_Pragma("push_macro(\"m8n32k16\")") _Pragma("push_macro(\"major\")") _Pragma("push_macro(\"make_\")")
_Pragma("push_macro(\"mask\")") _Pragma("push_macro(\"mask_\")") _Pragma("push_macro(\"match_all\")")
_Pragma("push_macro(\"match_any\")") _Pragma("push_macro(\"matrix_a\")") _Pragma("push_macro(\"matrix_b\")")
_Pragma("push_macro(\"max\")") _Pragma("push_macro(\"max_\")") _Pragma("push_macro(\"members\")")
_Pragma("push_macro(\"meta_rank\")") _Pragma("push_macro(\"meta_rank_\")") _Pragma("push_macro(\"meta_size\")")
_Pragma("push_macro(\"meta_size_\")") _Pragma("push_macro(\"milliseconds\")") _Pragma("push_macro(\"min\")")
_Pragma("push_macro(\"min_\")") _Pragma("push_macro(\"minor\")") _Pragma("push_macro(\"mirror\")")
_Pragma("push_macro(\"mma_sync\")") _Pragma("push_macro(\"mode\")") _Pragma("push_macro(\"modf\")")
_Pragma("push_macro(\"more\")") _Pragma("push_macro(\"most\")") _Pragma("push_macro(\"moved\")")
_Pragma("push_macro(\"mul24\")") _Pragma("push_macro(\"mul64hi\")") _Pragma("push_macro(\"mulhi\")")
_Pragma("push_macro(\"n\")") _Pragma("push_macro(\"name\")") _Pragma("push_macro(\"nanoseconds\")")
_Pragma("push_macro(\"nctaid\")") _Pragma("push_macro(\"ne\")") _Pragma("push_macro(\"needs\")")
_Pragma("push_macro(\"negative\")") _Pragma("push_macro(\"no_angle\")") _Pragma("push_macro(\"node\")")
_Pragma("push_macro(\"nodebug\")") _Pragma("push_macro(\"nodes\")") _Pragma("push_macro(\"noreturn\")")
_Pragma("push_macro(\"norm3d\")") _Pragma("push_macro(\"norm3df\")") _Pragma("push_macro(\"normalise\")")
_Pragma("push_macro(\"normcdf\")") _Pragma("push_macro(\"ntid\")") _Pragma("push_macro(\"num_blocks\")")
_Pragma("push_macro(\"num_elements\")") _Pragma("push_macro(\"num_threads\")") _Pragma("push_macro(\"number\")")
_Pragma("push_macro(\"odd\")") _Pragma("push_macro(\"of\")") _Pragma("push_macro(\"of_e\")")
_Pragma("push_macro(\"of_m\")") _Pragma("push_macro(\"offset\")") _Pragma("push_macro(\"old\")")
_Pragma("push_macro(\"op\")") _Pragma("push_macro(\"operation\")") _Pragma("push_macro(\"original\")")
_Pragma("push_macro(\"other\")") _Pragma("push_macro(\"p\")") _Pragma("push_macro(\"p0\")")
_Pragma("push_macro(\"p1\")") _Pragma("push_macro(\"p2\")") _Pragma("push_macro(\"pad\")")
_Pragma("push_macro(\"parameters\")") _Pragma("push_macro(\"parent\")") _Pragma("push_macro(\"part\")")
_Pragma("push_macro(\"peer\")") _Pragma("push_macro(\"pitch\")") _Pragma("push_macro(\"place\")")
_Pragma("push_macro(\"plus\")") _Pragma("push_macro(\"pointer\")") _Pragma("push_macro(\"pointers\")")
_Pragma("push_macro(\"polynomial\")") _Pragma("push_macro(\"pool\")") _Pragma("push_macro(\"precision\")")
_Pragma("push_macro(\"predicate\")") _Pragma("push_macro(\"priority\")") _Pragma("push_macro(\"processors\")")
_Pragma("push_macro(\"product\")") _Pragma("push_macro(\"properties\")") _Pragma("push_macro(\"property\")")
_Pragma("push_macro(\"ptr\")") _Pragma("push_macro(\"ptx\")") _Pragma("push_macro(\"ptx_scope\")")
_Pragma("push_macro(\"q\")") _Pragma("push_macro(\"quadrant\")") _Pragma("push_macro(\"quotient\")")
_Pragma("push_macro(\"r\")") _Pragma("push_macro(\"rank\")") _Pragma("push_macro(\"ranks\")")
_Pragma("push_macro(\"rcbrt\")") _Pragma("push_macro(\"rcbrtf\")") _Pragma("push_macro(\"rcp\")")
_Pragma("push_macro(\"rcp_\")") _Pragma("push_macro(\"rd\")") _Pragma("push_macro(\"real\")")
_Pragma("push_macro(\"reduce\")") _Pragma("push_macro(\"reduce_pi\")") _Pragma("push_macro(\"reg\")")
_Pragma("push_macro(\"reserved\")") _Pragma("push_macro(\"reserved0\")") _Pragma("push_macro(\"reserved1\")")
_Pragma("push_macro(\"reserved2\")") _Pragma("push_macro(\"rest\")") _Pragma("push_macro(\"result\")")
_Pragma("push_macro(\"rhypot\")") _Pragma("push_macro(\"rhypotf\")") _Pragma("push_macro(\"rm\")")
_Pragma("push_macro(\"rn\")") _Pragma("push_macro(\"rnorm3d\")") _Pragma("push_macro(\"rnorm3df\")")
_Pragma("push_macro(\"room\")") _Pragma("push_macro(\"root\")") _Pragma("push_macro(\"rough\")")
_Pragma("push_macro(\"rounding\")") _Pragma("push_macro(\"row_major\")") _Pragma("push_macro(\"rp\")")
_Pragma("push_macro(\"rsqrt\")") _Pragma("push_macro(\"rsqrtf\")") _Pragma("push_macro(\"ru\")")
_Pragma("push_macro(\"run\")") _Pragma("push_macro(\"rz\")") _Pragma("push_macro(\"s\")")
_Pragma("push_macro(\"s4\")") _Pragma("push_macro(\"said_yes\")") _Pragma("push_macro(\"same\")")
_Pragma("push_macro(\"satf\")") _Pragma("push_macro(\"scale\")") _Pragma("push_macro(\"scope\")")
_Pragma("push_macro(\"section\")") _Pragma("push_macro(\"selector\")") _Pragma("push_macro(\"shared\")")
_Pragma("push_macro(\"shfl\")") _Pragma("push_macro(\"shfl_down\")") _Pragma("push_macro(\"shfl_up\")")
_Pragma("push_macro(\"shfl_xor\")") _Pragma("push_macro(\"shift\")") _Pragma("push_macro(\"shuffle\")")
_Pragma("push_macro(\"signbit\")") _Pragma("push_macro(\"sin_of\")") _Pragma("push_macro(\"sin_small\")")
_Pragma("push_macro(\"sincospi\")") _Pragma("push_macro(\"sincospif\")") _Pragma("push_macro(\"sinpi\")")
_Pragma("push_macro(\"sinpif\")") _Pragma("push_macro(\"size\")") _Pragma("push_macro(\"size_t\")")
_Pragma("push_macro(\"source\")") _Pragma("push_macro(\"space\")") _Pragma("push_macro(\"sqrt_\")")
_Pragma("push_macro(\"square\")") _Pragma("push_macro(\"st\")") _Pragma("push_macro(\"start\")")
_Pragma("push_macro(\"status\")") _Pragma("push_macro(\"std\")") _Pragma("push_macro(\"steps\")")
_Pragma("push_macro(\"stirling\")") _Pragma("push_macro(\"store\")") _Pragma("push_macro(\"stream\")")
_Pragma("push_macro(\"stride\")") _Pragma("push_macro(\"suffix\")") _Pragma("push_macro(\"sum\")")
_Pragma("push_macro(\"symbol\")") _Pragma("push_macro(\"sys_\")") _Pragma("push_macro(\"t\")")
_Pragma("push_macro(\"tail\")") _Pragma("push_macro(\"tan_of\")") _Pragma("push_macro(\"tf32\")")
_Pragma("push_macro(\"third\")") _Pragma("push_macro(\"this_grid\")") _Pragma("push_macro(\"thread_block\")")
_Pragma("push_macro(\"thread_group\")") _Pragma("push_macro(\"thread_index\")") _Pragma("push_macro(\"thread_rank\")")
_Pragma("push_macro(\"tid\")") _Pragma("push_macro(\"tile\")") _Pragma("push_macro(\"time\")")
_Pragma("push_macro(\"tiny\")") _Pragma("push_macro(\"to\")") _Pragma("push_macro(\"to_count\")")
_Pragma("push_macro(\"to_device\")") _Pragma("push_macro(\"to_pitch\")") _Pragma("push_macro(\"to_port\")")
_Pragma("push_macro(\"total\")") _Pragma("push_macro(\"turns\")") _Pragma("push_macro(\"type\")")
_Pragma("push_macro(\"types\")") _Pragma("push_macro(\"u\")") _Pragma("push_macro(\"u4\")")
_Pragma("push_macro(\"uchar\")") _Pragma("push_macro(\"uchar4\")") _Pragma("push_macro(\"ui\")")
_Pragma("push_macro(\"uint\")") _Pragma("push_macro(\"uint2\")") _Pragma("push_macro(\"uint3\")")
_Pragma("push_macro(\"uint4\")") _Pragma("push_macro(\"ull\")") _Pragma("push_macro(\"ulong\")")
_Pragma("push_macro(\"ulonglong\")") _Pragma("push_macro(\"umax\")") _Pragma("push_macro(\"umin\")")
_Pragma("push_macro(\"umul24\")") _Pragma("push_macro(\"umul64hi\")") _Pragma("push_macro(\"umulhi\")")
_Pragma("push_macro(\"unit\")") _Pragma("push_macro(\"unused\")") _Pragma("push_macro(\"up\")")
_Pragma("push_macro(\"ushort\")") _Pragma("push_macro(\"uuid\")") _Pragma("push_macro(\"v\")")
_Pragma("push_macro(\"val\")") _Pragma("push_macro(\"value\")") _Pragma("push_macro(\"values\")")
_Pragma("push_macro(\"variable\")") _Pragma("push_macro(\"version\")") _Pragma("push_macro(\"visibility\")")
_Pragma("push_macro(\"w\")") _Pragma("push_macro(\"wait\")") _Pragma("push_macro(\"warp\")")
_Pragma("push_macro(\"weak\")") _Pragma("push_macro(\"whole\")") _Pragma("push_macro(\"width\")")
_Pragma("push_macro(\"wmma\")") _Pragma("push_macro(\"word\")") _Pragma("push_macro(\"words\")")
_Pragma("push_macro(\"x\")") _Pragma("push_macro(\"x_\")") _Pragma("push_macro(\"xchg\")")
_Pragma("push_macro(\"xsize\")") _Pragma("push_macro(\"y\")") _Pragma("push_macro(\"y2\")")
_Pragma("push_macro(\"y3\")") _Pragma("push_macro(\"y_\")") _Pragma("push_macro(\"yes\")")
_Pragma("push_macro(\"ysize\")") _Pragma("push_macro(\"z\")") _Pragma("push_macro(\"z_\")")
_Pragma("push_macro(\"zero\")") _Pragma("push_macro(\"zeros\")")
#undef least
#undef left
#undef length
#undef les
#undef less
#undef letter
#undef leu
#undef limit
#undef limits
#undef list
#undef ll
#undef llmax
#undef llmin
#undef lo
#undef load
#undef local
#undef location
#undef log_two
#undef longlong
#undef low
#undef lt
#undef lts
#undef ltu
#undef luid
#undef m
#undef m16n16k16
#undef m32n8k16
#undef m8n32k16
#undef major
#undef make_
#undef mask
#undef mask_
#undef match_all
#undef match_any
#undef matrix_a
#undef matrix_b
#undef max
#undef max_
#undef members
#undef meta_rank
#undef meta_rank_
#undef meta_size
#undef meta_size_
#undef milliseconds
#undef min
#undef min_
#undef minor
#undef mirror
#undef mma_sync
#undef mode
#undef modf
#undef more
#undef most
#undef moved
#undef mul24
#undef mul64hi
#undef mulhi
#undef n
#undef name
#undef nanoseconds
#undef nctaid
#undef ne
#undef needs
#undef negative
#undef no_angle
#undef node
#undef nodebug
#undef nodes
#undef noreturn
#undef norm3d
#undef norm3df
#undef normalise
#undef normcdf
#undef ntid
#undef num_blocks
#undef num_elements
#undef num_threads
#undef number
#undef odd
#undef of
#undef of_e
#undef of_m
#undef offset
#undef old
#undef op
#undef operation
#undef original
#undef other
#undef p
#undef p0
#undef p1
#undef p2
#undef pad
#undef parameters
#undef parent
#undef part
#undef peer
#undef pitch
#undef place
#undef plus
#undef pointer
#undef pointers
#undef polynomial
#undef pool
#undef precision
#undef predicate
#undef priority
#undef processors
#undef product
#undef properties
#undef property
#undef ptr
#undef ptx
#undef ptx_scope
#undef q
#undef quadrant
#undef quotient
#undef r
#undef rank
#undef ranks
#undef rcbrt
#undef rcbrtf
#undef rcp
#undef rcp_
#undef rd
#undef real
#undef reduce
#undef reduce_pi
#undef reg
#undef reserved
#undef reserved0
#undef reserved1
#undef reserved2
#undef rest
#undef result
#undef rhypot
#undef rhypotf
#undef rm
#undef rn
#undef rnorm3d
#undef rnorm3df
#undef room
#undef root
#undef rough
#undef rounding
#undef row_major
#undef rp
#undef rsqrt
#undef rsqrtf
#undef ru
#undef run
#undef rz
#undef s
#undef s4
#undef said_yes
#undef same
#undef satf
#undef scale
#undef scope
#undef section
#undef selector
#undef shared
#undef shfl
#undef shfl_down
#undef shfl_up
#undef shfl_xor
#undef shift
#undef shuffle
#undef signbit
#undef sin_of
#undef sin_small
#undef sincospi
#undef sincospif
#undef sinpi
#undef sinpif
#undef size
#undef size_t
#undef source
#undef space
#undef sqrt_
#undef square
#undef st
#undef start
#undef status
#undef std
#undef steps
#undef stirling
#undef store
#undef stream
#undef stride
#undef suffix
#undef sum
#undef symbol
#undef sys_
#undef t
#undef tail
#undef tan_of
#undef tf32
#undef third
#undef this_grid
#undef thread_block
#undef thread_group
#undef thread_index
#undef thread_rank
#undef tid
#undef tile
#undef time
#undef tiny
#undef to
#undef to_count
#undef to_device
#undef to_pitch
#undef to_port
#undef total
#undef turns
#undef type
#undef types
#undef u
#undef u4
#undef uchar
#undef uchar4
#undef ui
#undef uint
#undef uint2
#undef uint3
#undef uint4
#undef ull
#undef ulong
#undef ulonglong
#undef umax
#undef umin
#undef umul24
#undef umul64hi
#undef umulhi
#undef unit
#undef unused
#undef up
#undef ushort
#undef uuid
#undef v
#undef val
#undef value
#undef values
#undef variable
#undef version
#undef visibility
#undef w
#undef wait
#undef warp
#undef weak
#undef whole
#undef width
#undef wmma
#undef word
#undef words
#undef x
#undef x_
#undef xchg
#undef xsize
#undef y
#undef y2
#undef y3
#undef y_
#undef yes
#undef ysize
#undef z
#undef z_
#undef zero
#undef zeros
