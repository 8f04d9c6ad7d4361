// The tables and constants of math.cuh, as bits: those of src/math/tables.rs. Written by tests/math/tables.py.

namespace bl {
namespace math {

// The bits at which the first interval of log_row starts.
#define BL_LOG_START 0x3fe68aaac0000000ull
// The part of ln 2 whose product with an exponent is exact.
#define BL_LN2_HI from_bits<f64>(0x3fe62e42fefa3800ull)
// The rest of ln 2.
#define BL_LN2_LO from_bits<f64>(0x3d2ef35793c76730ull)
// The part of ln 2 / 128 whose product with an integer of 18 bits is exact.
#define BL_STEP_HI from_bits<f64>(0x3f762e42fefc0000ull)
// The rest of ln 2 / 128.
#define BL_STEP_LO from_bits<f64>(0xbd3c610ca86c3899ull)
// 128 / ln 2.
#define BL_STEPS from_bits<f64>(0x40671547652b82feull)
// ln 2.
#define BL_LN2 from_bits<f64>(0x3fe62e42fefa39efull)
// What rounding ln 2 left out.
#define BL_LN2_REST from_bits<f64>(0x3c7abc9e3b39803full)
// log2 e.
#define BL_LOG2_E from_bits<f64>(0x3ff71547652b82feull)
// The first 24 bits of log2 e.
#define BL_LOG2_E_UPPER from_bits<f64>(0x3ff7154760000000ull)
// The rest of log2 e.
#define BL_LOG2_E_LOWER from_bits<f64>(0x3e54ae0bf85ddf44ull)
// The first 24 bits of log10 e.
#define BL_LOG10_E_UPPER from_bits<f64>(0x3fdbcb7b00000000ull)
// The rest of log10 e.
#define BL_LOG10_E_LOWER from_bits<f64>(0x3e5526e50e32a6abull)
// Pi, rounded.
#define BL_PI_HI from_bits<f64>(0x400921fb54442d18ull)
// The rest of pi.
#define BL_PI_LO from_bits<f64>(0x3ca1a62633145c07ull)
// Half of pi, rounded.
#define BL_HALF_PI_HI from_bits<f64>(0x3ff921fb54442d18ull)
// The rest of half of pi.
#define BL_HALF_PI_LO from_bits<f64>(0x3c91a62633145c07ull)

// 1/c, ln c as a sum of two, log2 c, for c near the middle of each of 128 intervals.
BL_FN const u64 (&log_row(u32 row))[4] {
    alignas(16) static const u64 rows[128][4] = {
        {0x3ff6a70000000000ull, 0xbfd6404cf867a000ull, 0xbd3c74ea5d0e8a5full, 0xbfe00d032a117fb6ull},
        {0x3ff6870000000000ull, 0xbfd5e5a3e5a8a000ull, 0xbd3c987ecba326f1ull, 0xbfdf973ab6bc4fc6ull},
        {0x3ff6670000000000ull, 0xbfd58a79aea06000ull, 0x3d0cc23da1a8d804ull, 0xbfdf13b4c96c66baull},
        {0x3ff6480000000000ull, 0xbfd531ac457ee000ull, 0xbd3df83b7d931501ull, 0xbfde939768714a32ull},
        {0x3ff6290000000000ull, 0xbfd4d862f8eec000ull, 0x3d3a9407bd51d78eull, 0xbfde12c74bc3b560ull},
        {0x3ff60b0000000000ull, 0xbfd48183c4c61000ull, 0x3d38b271ef74e71eull, 0xbfdd9572e830fefaull},
        {0x3ff5ec0000000000ull, 0xbfd42742b427e000ull, 0x3d39872702b82675ull, 0xbfdd133d582c6025ull},
        {0x3ff5ce0000000000ull, 0xbfd3cf711eda4000ull, 0xbd3378b901d14371ull, 0xbfdc948b469b9425ull},
        {0x3ff5b10000000000ull, 0xbfd37a19c6a32000ull, 0x3d2064ee1c287822ull, 0xbfdc196c38594ceaull},
        {0x3ff5940000000000ull, 0xbfd3245009570000ull, 0xbd3d271b9bdae59dull, 0xbfdb9da820a5cdafull},
        {0x3ff5770000000000ull, 0xbfd2ce12b2aab000ull, 0xbd3611ce52bd1ae2ull, 0xbfdb213d42bad7a1ull},
        {0x3ff55a0000000000ull, 0xbfd27760896e0000ull, 0x3d2911c9c937179dull, 0xbfdaa429dac2a719ull},
        {0x3ff53e0000000000ull, 0xbfd2233bad341000ull, 0x3d2d7a40e12627d4ull, 0xbfda2ac4f656b27full},
        {0x3ff5220000000000ull, 0xbfd1cea79ddf9000ull, 0xbd0ecdf4c87ffd51ull, 0xbfd9b0bfa49151a1ull},
        {0x3ff5060000000000ull, 0xbfd179a334012000ull, 0x3ce8d01c8373efc8ull, 0xbfd936183b397228ull},
        {0x3ff4ea0000000000ull, 0xbfd1242d4389d000ull, 0x3d35a69ff2e6af22ull, 0xbfd8bacd096a8f10ull},
        {0x3ff4cf0000000000ull, 0xbfd0d1580c91d000ull, 0xbd3f30c1b6eb9dcdull, 0xbfd8434c60f01584ull},
        {0x3ff4b40000000000ull, 0xbfd07e1714f1d000ull, 0x3d3efcc64f384bd5ull, 0xbfd7cb30443645beull},
        {0x3ff49a0000000000ull, 0xbfd02d849dbe6000ull, 0x3d1f051345b83928ull, 0xbfd756f2911880faull},
        {0x3ff47f0000000000ull, 0xbfcfb2d9d5fca000ull, 0x3d399398ce23e8f2ull, 0xbfd6dda0a9cce3faull},
        {0x3ff4650000000000ull, 0xbfcf10132bf2a000ull, 0x3d3105581edb8d25ull, 0xbfd66835a20ab6dcull},
        {0x3ff44b0000000000ull, 0xbfce6c7c792bc000ull, 0x3d12e84ab304ad38ull, 0xbfd5f23489aae90bull},
        {0x3ff4320000000000ull, 0xbfcdce6a5d6d0000ull, 0x3d36c188b3e492a4ull, 0xbfd5802e692ba5b6ull},
        {0x3ff4180000000000ull, 0xbfcd293581b6c000ull, 0x3d383270128aaa5full, 0xbfd509028ff8e0a2ull},
        {0x3ff3ff0000000000ull, 0xbfcc8991383d2000ull, 0x3d38cf5d400a2ec5ull, 0xbfd495da532c02f8ull},
        {0x3ff3e60000000000ull, 0xbfcbe924da25a000ull, 0x3d396d3a28b4384full, 0xbfd42221c281be64ull},
        {0x3ff3ce0000000000ull, 0xbfcb4e6528042000ull, 0x3d321a9989c3c6f4ull, 0xbfd3b281136a345cull},
        {0x3ff3b50000000000ull, 0xbfcaac6ae4976000ull, 0xbd2c43c1df14cc00ull, 0xbfd33da97d5476e1ull},
        {0x3ff39d0000000000ull, 0xbfca102981e3c000ull, 0x3d39876541e4323eull, 0xbfd2ccf296db71ddull},
        {0x3ff3850000000000ull, 0xbfc97328759d8000ull, 0xbd281b1fb9bb03c9ull, 0xbfd25bb16f0e3f4aull},
        {0x3ff36d0000000000ull, 0xbfc8d565e751c000ull, 0xbd326c40d82a7f12ull, 0xbfd1e9e4b11ffd94ull},
        {0x3ff3560000000000ull, 0xbfc83d7ece9a8000ull, 0xbd1bf38b97c69b8cull, 0xbfd17c5194cb0c69ull},
        {0x3ff33f0000000000ull, 0xbfc7a4e29a008000ull, 0x3d32d0bf38831296ull, 0xbfd10e3bd3fcbcccull},
        {0x3ff3280000000000ull, 0xbfc70b8f97a1a000ull, 0xbd34ea64f6a95befull, 0xbfd09fa235ba2020ull},
        {0x3ff3110000000000ull, 0xbfc671840f7da000ull, 0xbd1fc5f78077f371ull, 0xbfd030837c9e47e7ull},
        {0x3ff2fa0000000000ull, 0xbfc5d6be4357c000ull, 0xbd38740cec95cbe4ull, 0xbfcf81bccd89d899ull},
        {0x3ff2e40000000000ull, 0xbfc542033a7a8000ull, 0xbd268d68ed855f0eull, 0xbfceab2a23a5b83eull},
        {0x3ff2ce0000000000ull, 0xbfc4ac9a963a8000ull, 0x3d17ecc136008e2cull, 0xbfcdd39d03810412ull},
        {0x3ff2b80000000000ull, 0xbfc41682bf728000ull, 0x3d210047081f849dull, 0xbfccfb1321b8c400ull},
        {0x3ff2a20000000000ull, 0xbfc37fba195e6000ull, 0xbd3fa5cb4f9f7627ull, 0xbfcc218a2ace2aedull},
        {0x3ff28c0000000000ull, 0xbfc2e83f0180e000ull, 0x3d3f0c2ac284e1ceull, 0xbfcb46ffc300341bull},
        {0x3ff2770000000000ull, 0xbfc256fe9d2fc000ull, 0x3d371c09eba1fb7full, 0xbfca75720623c2b7ull},
        {0x3ff2620000000000ull, 0xbfc1c518a8e8c000ull, 0x3d3572209a5864b4ull, 0xbfc9a2f56e262265ull},
        {0x3ff24d0000000000ull, 0xbfc1328ba98e6000ull, 0x3d2ee51e98c1cddfull, 0xbfc8cf87d814c063ull},
        {0x3ff2380000000000ull, 0xbfc09f561ee72000ull, 0x3d28f3057157d1a8ull, 0xbfc7fb27199df16dull},
        {0x3ff2230000000000ull, 0xbfc00b768385e000ull, 0x3d3eeae1645803deull, 0xbfc725d100eee153ull},
        {0x3ff20f0000000000ull, 0xbfbefc0411354000ull, 0xbcd3ad6cff31c1ddull, 0xbfc659bd702825abull},
        {0x3ff1fa0000000000ull, 0xbfbdd1a3dcc84000ull, 0x3d314371256fc770ull, 0xbfc58281e1a28fc8ull},
        {0x3ff1e60000000000ull, 0xbfbcb4343fa84000ull, 0x3d2345f9013ce2faull, 0xbfc4b49bda9e6743ull},
        {0x3ff1d20000000000ull, 0xbfbb9584fc4b0000ull, 0xbd2247be94d9294aull, 0xbfc3e5cf3f8ffd28ull},
        {0x3ff1bf0000000000ull, 0xbfba8400a7014000ull, 0x3d29344bc1f4ae1aull, 0xbfc32082412c9840ull},
        {0x3ff1ab0000000000ull, 0xbfb962d9f5c4c000ull, 0xbd00ac57604633baull, 0xbfc24fee2b44d29bull},
        {0x3ff1980000000000ull, 0xbfb84ef898e84000ull, 0x3d37d5cd246977c9ull, 0xbfc188ecbd1d16beull},
        {0x3ff1840000000000ull, 0xbfb72b4f842ec000ull, 0x3d3704ccc00c9dd3ull, 0xbfc0b6894488e95full},
        {0x3ff1710000000000ull, 0xbfb6150693b78000ull, 0xbd35dc1405f2a29dull, 0xbfbfdb9795e7beafull},
        {0x3ff15e0000000000ull, 0xbfb4fd8dd6648000ull, 0x3d3939638588db5bull, 0xbfbe48665838c382ull},
        {0x3ff14b0000000000ull, 0xbfb3e4e2b20e4000ull, 0xbd0dbbaa44b0a27bull, 0xbfbcb37b0ef71b35ull},
        {0x3ff1390000000000ull, 0xbfb2d9e02ad40000ull, 0x3d3ba2d5da7640b3ull, 0xbfbb324451ce275cull},
        {0x3ff1260000000000ull, 0xbfb1bed8c0854000ull, 0xbd2de2827c86bdc2ull, 0xbfb999f140532130ull},
        {0x3ff1140000000000ull, 0xbfb0b194ee0d0000ull, 0xbd3666ea4f69edccull, 0xbfb81579a73e83c6ull},
        {0x3ff1020000000000ull, 0xbfaf466971820000ull, 0xbd3189984a26eedcull, 0xbfb68f67c5e2bde8ull},
        {0x3ff0f00000000000ull, 0xbfad276b8adb0000ull, 0xbd16a423c78a64b0ull, 0xbfb507b836033bb7ull},
        {0x3ff0de0000000000ull, 0xbfab062b62af0000ull, 0xbd35850ba4cc03b2ull, 0xbfb37e67868724b2ull},
        {0x3ff0cc0000000000ull, 0xbfa8e2a4243a0000ull, 0xbd2b9eeb01426490ull, 0xbfb1f3723b4ae6dbull},
        {0x3ff0bb0000000000ull, 0xbfa6db6c29998000ull, 0xbd22fd205b796508ull, 0xbfb07ce8bbfd4c89ull},
        {0x3ff0a90000000000ull, 0xbfa4b369141d0000ull, 0x3ce91d1a0d990530ull, 0xbfaddd6ee5db3001ull},
        {0x3ff0980000000000ull, 0xbfa2a7ec22150000ull, 0x3d278ce77a9163feull, 0xbfaaea3316095f72ull},
        {0x3ff0870000000000ull, 0xbfa09a55ce8c8000ull, 0xbd30e426196e582eull, 0xbfa7f3efff616a10ull},
        {0x3ff0760000000000ull, 0xbf9d15438b940000ull, 0x3d3d2d081b089ddeull, 0xbfa4fa9f63c62b72ull},
        {0x3ff0650000000000ull, 0xbf98f1974d460000ull, 0x3d10a6e11019c98full, 0xbfa1fe3af1b91dabull},
        {0x3ff0540000000000ull, 0xbf94c99e04900000ull, 0xbd1decc65df5f4a5ull, 0xbf9dfd78881399f1ull},
        {0x3ff0440000000000ull, 0xbf90dc4518b00000ull, 0x3d29bc2f380313fcull, 0xbf98530faa3c087bull},
        {0x3ff0330000000000ull, 0xbf8957b190140000ull, 0x3d022cc23a35a35bull, 0xbf9247e1b6c615b3ull},
        {0x3ff0230000000000ull, 0xbf816cf7bc5a0000ull, 0x3d372adc5c392160ull, 0xbf8923d0e5a21de5ull},
        {0x3ff0130000000000ull, 0xbf72f4c0e6680000ull, 0xbd230acd2f712525ull, 0xbf7b590b1e59515bull},
        {0x3ff0000000000000ull, 0x0000000000000000ull, 0x0000000000000000ull, 0x0000000000000000ull},
        {0x3fefcc0000000000ull, 0x3f7a1536feb40000ull, 0xbd24347176e4963eull, 0x3f82d097a4b08381ull},
        {0x3fef8c0000000000ull, 0x3f8d351063fa0000ull, 0x3d21a8d92df000bfull, 0x3f95118fc4b10f70ull},
        {0x3fef4e0000000000ull, 0x3f967ecb49bc0000ull, 0x3d3cde236044c670ull, 0x3fa03a1782d9aa5cull},
        {0x3fef120000000000ull, 0x3f9e30d2cab50000ull, 0xbd2c034803d1f327ull, 0x3fa5c72ae7cdcea1ull},
        {0x3feed60000000000ull, 0x3fa2f8e2887a0000ull, 0xbd3561c583db0540ull, 0x3fab5f00f5e62e3dull},
        {0x3fee9a0000000000ull, 0x3fa6e0ee312f0000ull, 0x3d30f4dbf9f3bb75ull, 0x3fb080e1db0fb022ull},
        {0x3fee600000000000ull, 0x3faaaef2d0fb0000ull, 0x3d20fc1a353bb42eull, 0x3fb33f7cde14cf5aull},
        {0x3fee280000000000ull, 0x3fae624c4a0b8000ull, 0xbd30f25c74676689ull, 0x3fb5eadb217198a3ull},
        {0x3fedf00000000000ull, 0x3fb10e45b3cb0000ull, 0xbd37cf69284a3465ull, 0x3fb89b33091d6fe8ull},
        {0x3fedb80000000000ull, 0x3fb2eee507b40000ull, 0x3d08081edd77c860ull, 0x3fbb5097437cb58eull},
        {0x3fed800000000000ull, 0x3fb4d3115d208000ull, 0xbcf53a2582f4e1efull, 0x3fbe0b1ae8f2fd56ull},
        {0x3fed4a0000000000ull, 0x3fb6a95c8529c000ull, 0x3d3cf2940ef5bb3full, 0x3fc058cc33d81e19ull},
        {0x3fed160000000000ull, 0x3fb87172eb29c000ull, 0xbd3fbc1cfd99d35eull, 0x3fc1a1cb956e877eull},
        {0x3fece20000000000ull, 0x3fba3cbb939ec000ull, 0xbd3b9cd3ae3ef7b1ull, 0x3fc2ed1936e672d8ull},
        {0x3fecae0000000000ull, 0x3fbc0b420b528000ull, 0x3d3b1ed4bf9f4d9dull, 0x3fc43abd6d1f0134ull},
        {0x3fec7a0000000000ull, 0x3fbddd121e1bc000ull, 0x3d0424adf4dbb060ull, 0x3fc58ac0ba724553ull},
        {0x3fec480000000000ull, 0x3fbfa01c9db58000ull, 0xbd08f351fa48a730ull, 0x3fc6d01c335dc9b5ull},
        {0x3fec160000000000ull, 0x3fc0b323a6fa2000ull, 0xbd312ec38958900dull, 0x3fc817b8e3591a11ull},
        {0x3febe60000000000ull, 0x3fc18ea141252000ull, 0x3d0f61bc739fdd73ull, 0x3fc95461593a8b9dull},
        {0x3febb40000000000ull, 0x3fc274d717ad4000ull, 0x3d38a65ba0967592ull, 0x3fcaa080e786691full},
        {0x3feb860000000000ull, 0x3fc34a1259d42000ull, 0xbd31e22a9a0da9e0ull, 0x3fcbd421abe03ef5ull},
        {0x3feb560000000000ull, 0x3fc42a103dae0000ull, 0xbd33a63538074187ull, 0x3fcd17488823748full},
        {0x3feb280000000000ull, 0x3fc5022b292f6000ull, 0x3d348a05ff36a25bull, 0x3fce4f0ea2509008ull},
        {0x3feafa0000000000ull, 0x3fc5dbb55bfec000ull, 0x3ceaf02c499b2c7aull, 0x3fcf88e69b721572ull},
        {0x3feacc0000000000ull, 0x3fc6b6b3bedd2000ull, 0xbd395c23166cb1fbull, 0x3fd0626bc4528041ull},
        {0x3feaa00000000000ull, 0x3fc7898d85444000ull, 0x3d38e67be3dbaf3full, 0x3fd0fa848044b351ull},
        {0x3fea740000000000ull, 0x3fc85dc4dfda8000ull, 0xbd20f4a9f6f9fc8cull, 0x3fd19399672dd824ull},
        {0x3fea480000000000ull, 0x3fc9335e5d594000ull, 0x3d33115c3abd47daull, 0x3fd22dadc2ab3497ull},
        {0x3fea1e0000000000ull, 0x3fca0090f5290000ull, 0xbd28dcdfb7b6ac7full, 0x3fd2c1b292cd1b18ull},
        {0x3fe9f40000000000ull, 0x3fcacf0e940e8000ull, 0xbd33ff8e2c0cd8fdull, 0x3fd356a62c25e0cbull},
        {0x3fe9ca0000000000ull, 0x3fcb9edb6cda0000ull, 0x3d21174ab2977a69ull, 0x3fd3ec8b9605eec0ull},
        {0x3fe9a00000000000ull, 0x3fcc6ffbc6f00000ull, 0x3d3ee138d3a69d43ull, 0x3fd48365e695d797ull},
        {0x3fe9780000000000ull, 0x3fcd386668720000ull, 0xbd373650b38932bcull, 0x3fd513f7cfcb68ceull},
        {0x3fe9500000000000ull, 0x3fce020cc6236000ull, 0xbd252b00adb91424ull, 0x3fd5a56d7a370dedull},
        {0x3fe9280000000000ull, 0x3fceccf2c8fea000ull, 0xbd3bec63a3e75640ull, 0x3fd637c9b7e64dc2ull},
        {0x3fe9000000000000ull, 0x3fcf991c6cb3c000ull, 0xbd390d04cd7cc834ull, 0x3fd6cb0f6865c8eaull},
        {0x3fe8da0000000000ull, 0x3fd02e201e7b4000ull, 0x3d3f06bba25d2906ull, 0x3fd757d2e8f6eb66ull},
        {0x3fe8b40000000000ull, 0x3fd09047aa6f9000ull, 0x3d3f18e83ce75c0eull, 0x3fd7e56e4c09f0b3ull},
        {0x3fe88e0000000000ull, 0x3fd0f306a7fa5000ull, 0x3d2c220fa42cb215ull, 0x3fd873e42bce0bedull},
        {0x3fe8680000000000ull, 0x3fd1565eed456000ull, 0xbcee75adfb6aba25ull, 0x3fd903372e90bee4ull},
        {0x3fe8420000000000ull, 0x3fd1ba5259157000ull, 0x3d367fd6fa27ffc0ull, 0x3fd9936a07098e43ull},
        {0x3fe81e0000000000ull, 0x3fd21993e7b12000ull, 0xbd37feb4b54473f7ull, 0x3fda1cd6f321b088ull},
        {0x3fe7fa0000000000ull, 0x3fd27964118a4000ull, 0x3d0d602de8687e9cull, 0x3fdaa7119c0a55c8ull},
        {0x3fe7d60000000000ull, 0x3fd2d9c484211000ull, 0x3d30c98bdd55547bull, 0x3fdb321c6d66eeddull},
        {0x3fe7b20000000000ull, 0x3fd33ab6f4959000ull, 0x3d2dac4944814ad2ull, 0x3fdbbdf9dddad421ull},
        {0x3fe7900000000000ull, 0x3fd396ce359bc000ull, 0xbd05839c5663663dull, 0x3fdc42d5c4c688b4ull},
        {0x3fe76e0000000000ull, 0x3fd3f36ab95cc000ull, 0x3d3c6f51de4cc1caull, 0x3fdcc871ecd911c1ull},
        {0x3fe74c0000000000ull, 0x3fd4508e03b62000ull, 0xbd3e21c7b50dccc8ull, 0x3fdd4ed085a491eaull},
        {0x3fe72a0000000000ull, 0x3fd4ae399f2c3000ull, 0xbd22d575e039325dull, 0x3fddd5f3c8542735ull},
        {0x3fe7080000000000ull, 0x3fd50c6f1d11c000ull, 0xbd3a0e6b7e827c2cull, 0x3fde5dddf7e46e0aull},
        {0x3fe6e80000000000ull, 0x3fd5659950695000ull, 0x3d14c5fd2badc774ull, 0x3fdede8136f4cbf1ull},
        {0x3fe6c60000000000ull, 0x3fd5c4df0ab3a000ull, 0xbd385029c920a17aull, 0x3fdf67f42763ebbeull},
    };
    return rows[row];
}

// 2^(i/128), and its relative error: what one plus it must be multiplied by.
BL_FN const u64 (&exp_row(u32 row))[2] {
    alignas(16) static const u64 rows[128][2] = {
        {0x3ff0000000000000ull, 0x0000000000000000ull},
        {0x3ff0163da9fb3335ull, 0x3c9b3b4f1a88bf6eull},
        {0x3ff02c9a3e778061ull, 0xbc7160139cd8dc5dull},
        {0x3ff04315e86e7f85ull, 0xbc905e7a108766d1ull},
        {0x3ff059b0d3158574ull, 0x3c8cd2523567f613ull},
        {0x3ff0706b29ddf6deull, 0xbc8bce8023f98efaull},
        {0x3ff0874518759bc8ull, 0x3c60f74e61e6c861ull},
        {0x3ff09e3ecac6f383ull, 0x3c90a3e45b33d399ull},
        {0x3ff0b5586cf9890full, 0x3c979aa65d837b6dull},
        {0x3ff0cc922b7247f7ull, 0x3c8eb51a92fdeffcull},
        {0x3ff0e3ec32d3d1a2ull, 0x3c3ebe3d702f9cd1ull},
        {0x3ff0fb66affed31bull, 0xbc6a033489906e0bull},
        {0x3ff11301d0125b51ull, 0xbc9556522a2fbd0eull},
        {0x3ff12abdc06c31ccull, 0xbc5080ef8c4eea55ull},
        {0x3ff1429aaea92de0ull, 0xbc91c923b9d5f416ull},
        {0x3ff15a98c8a58e51ull, 0x3c80d3e3e95c55afull},
        {0x3ff172b83c7d517bull, 0xbc801b15eaa59348ull},
        {0x3ff18af9388c8deaull, 0xbc8f1ff055de323dull},
        {0x3ff1a35beb6fcb75ull, 0x3c8b898c3f1353bfull},
        {0x3ff1bbe084045cd4ull, 0xbc96d99c7611eb26ull},
        {0x3ff1d4873168b9aaull, 0x3c9aecf73e3a2f60ull},
        {0x3ff1ed5022fcd91dull, 0xbc8fe782cb86389dull},
        {0x3ff2063b88628cd6ull, 0x3c8a6f4144a6c38dull},
        {0x3ff21f49917ddc96ull, 0x3c807a05b0e4047dull},
        {0x3ff2387a6e756238ull, 0x3c968efde3a8a894ull},
        {0x3ff251ce4fb2a63full, 0x3c875e18f274487dull},
        {0x3ff26b4565e27cddull, 0x3c80472b981fe7f2ull},
        {0x3ff284dfe1f56381ull, 0xbc96b87b3f71085eull},
        {0x3ff29e9df51fdee1ull, 0x3c82f7e16d09ab31ull},
        {0x3ff2b87fd0dad990ull, 0xbc3d219b1a6fbffaull},
        {0x3ff2d285a6e4030bull, 0x3c8b3782720c0ab4ull},
        {0x3ff2ecafa93e2f56ull, 0x3c6e149289cecb8full},
        {0x3ff306fe0a31b715ull, 0x3c834d754db0abb6ull},
        {0x3ff32170fc4cd831ull, 0x3c864201e2ac744cull},
        {0x3ff33c08b26416ffull, 0x3c8fdd395dd3f84aull},
        {0x3ff356c55f929ff1ull, 0xbc86a3803b8e5b04ull},
        {0x3ff371a7373aa9cbull, 0xbc924aedcc4b5068ull},
        {0x3ff38cae6d05d866ull, 0xbc9907f81b512d8eull},
        {0x3ff3a7db34e59ff7ull, 0xbc71d1e83e9436d2ull},
        {0x3ff3c32dc313a8e5ull, 0xbc991919b3ce1b15ull},
        {0x3ff3dea64c123422ull, 0x3c859f48a72a4c6dull},
        {0x3ff3fa4504ac801cull, 0xbc9312607a28698aull},
        {0x3ff4160a21f72e2aull, 0xbc58a78f4817895bull},
        {0x3ff431f5d950a897ull, 0xbc7c2c9b67499a1bull},
        {0x3ff44e086061892dull, 0x3c4363ed60c2ac11ull},
        {0x3ff46a41ed1d0057ull, 0x3c9666093b0664efull},
        {0x3ff486a2b5c13cd0ull, 0x3c6ecce1daa10379ull},
        {0x3ff4a32af0d7d3deull, 0x3c93ff8e3f0f1230ull},
        {0x3ff4bfdad5362a27ull, 0x3c7690cebb7aafb0ull},
        {0x3ff4dcb299fddd0dull, 0x3c931dbdeb54e077ull},
        {0x3ff4f9b2769d2ca7ull, 0xbc8f94340071a38eull},
        {0x3ff516daa2cf6642ull, 0xbc87deccdc93a349ull},
        {0x3ff5342b569d4f82ull, 0xbc78dec6bd0f385full},
        {0x3ff551a4ca5d920full, 0xbc861246ec7b5cf6ull},
        {0x3ff56f4736b527daull, 0x3c93350518fdd78eull},
        {0x3ff58d12d497c7fdull, 0x3c7b98b72f8a9b05ull},
        {0x3ff5ab07dd485429ull, 0x3c9063e1e21c5409ull},
        {0x3ff5c9268a5946b7ull, 0x3c34c7855019c6eaull},
        {0x3ff5e76f15ad2148ull, 0x3c9432e62b64c035ull},
        {0x3ff605e1b976dc09ull, 0xbc8ce44a6199769full},
        {0x3ff6247eb03a5585ull, 0xbc8c33c53bef4da8ull},
        {0x3ff6434634ccc320ull, 0xbc845378892be9aeull},
        {0x3ff6623882552225ull, 0xbc93cedd78565858ull},
        {0x3ff68155d44ca973ull, 0x3c5710aa807e1964ull},
        {0x3ff6a09e667f3bcdull, 0xbc93b3efbf5e2228ull},
        {0x3ff6c012750bdabfull, 0xbc6a12ad8734b982ull},
        {0x3ff6dfb23c651a2full, 0xbc6367efb86da9eeull},
        {0x3ff6ff7df9519484ull, 0xbc80dc3d54e08851ull},
        {0x3ff71f75e8ec5f74ull, 0xbc781f647e5a3ecfull},
        {0x3ff73f9a48a58174ull, 0xbc86ee4ac08b7db0ull},
        {0x3ff75feb564267c9ull, 0xbc8619321e55e68aull},
        {0x3ff780694fde5d3full, 0x3c909ccb5e09d4d3ull},
        {0x3ff7a11473eb0187ull, 0xbc7b32dcb94da51dull},
        {0x3ff7c1ed0130c132ull, 0x3c94ecfd5467c06bull},
        {0x3ff7e2f336cf4e62ull, 0x3c65ebe1abd66c55ull},
        {0x3ff80427543e1a12ull, 0xbc88a1c52fb3cf42ull},
        {0x3ff82589994cce13ull, 0xbc9369b6f13b3734ull},
        {0x3ff8471a4623c7adull, 0xbc805e843a19ff1eull},
        {0x3ff868d99b4492edull, 0xbc94d450d872576eull},
        {0x3ff88ac7d98a6699ull, 0x3c90ad675b0e8a00ull},
        {0x3ff8ace5422aa0dbull, 0x3c8db72fc1f0eab4ull},
        {0x3ff8cf3216b5448cull, 0xbc65b6609cc5e7ffull},
        {0x3ff8f1ae99157736ull, 0x3c7bf68359f35f44ull},
        {0x3ff9145b0b91ffc6ull, 0xbc93091fa71e3d83ull},
        {0x3ff93737b0cdc5e5ull, 0xbc5da9b88b6c1e29ull},
        {0x3ff95a44cbc8520full, 0xbc6c23f97c90b959ull},
        {0x3ff97d829fde4e50ull, 0xbc92434322f4f9aaull},
        {0x3ff9a0f170ca07baull, 0xbc85ca6cd7668e4bull},
        {0x3ff9c49182a3f090ull, 0x3c71affc2b91ce27ull},
        {0x3ff9e86319e32323ull, 0x3c6dd235e10a73bbull},
        {0x3ffa0c667b5de565ull, 0xbc87c50422622263ull},
        {0x3ffa309bec4a2d33ull, 0x3c8b1c86e3e231d5ull},
        {0x3ffa5503b23e255dull, 0xbc91bbd1d3bcbb15ull},
        {0x3ffa799e1330b358ull, 0x3c90cc319cee31d2ull},
        {0x3ffa9e6b5579fdbfull, 0x3c8469846e735ab3ull},
        {0x3ffac36bbfd3f37aull, 0xbc82dfcd978e9db4ull},
        {0x3ffae89f995ad3adull, 0x3c8c1a7792cb3387ull},
        {0x3ffb0e07298db666ull, 0xbc907b8f4ad1d9faull},
        {0x3ffb33a2b84f15fbull, 0xbc55c3d956dcaebaull},
        {0x3ffb59728de5593aull, 0xbc90a40e3da6f640ull},
        {0x3ffb7f76f2fb5e47ull, 0xbc68d6f438ad9334ull},
        {0x3ffba5b030a1064aull, 0xbc91eee26b588a35ull},
        {0x3ffbcc1e904bc1d2ull, 0x3c74ffd70a5fddcdull},
        {0x3ffbf2c25bd71e09ull, 0xbc91bdfbfa9298acull},
        {0x3ffc199bdd85529cull, 0x3c736eae30af0cb3ull},
        {0x3ffc40ab5fffd07aull, 0x3c8ee3325c9ffd94ull},
        {0x3ffc67f12e57d14bull, 0x3c84e08fd10959acull},
        {0x3ffc8f6d9406e7b5ull, 0x3c63cdaf384e1a67ull},
        {0x3ffcb720dcef9069ull, 0x3c676b2c6c921968ull},
        {0x3ffcdf0b555dc3faull, 0xbc808a1883ccb5d2ull},
        {0x3ffd072d4a07897cull, 0xbc8fad5d3ffffa6full},
        {0x3ffd2f87080d89f2ull, 0xbc900dae3875a949ull},
        {0x3ffd5818dcfba487ull, 0x3c74a385a63d07a7ull},
        {0x3ffd80e316c98398ull, 0xbc82919e2040220full},
        {0x3ffda9e603db3285ull, 0x3c8e5a50d5c192acull},
        {0x3ffdd321f301b460ull, 0x3c843a59ac016b4bull},
        {0x3ffdfc97337b9b5full, 0xbc82d52107b43e1full},
        {0x3ffe264614f5a129ull, 0xbc892ab93b470dc9ull},
        {0x3ffe502ee78b3ff6ull, 0x3c74b604603a88d3ull},
        {0x3ffe7a51fbc74c83ull, 0x3c83c5ec519d7271ull},
        {0x3ffea4afa2a490daull, 0xbc8ff7128fd391f0ull},
        {0x3ffecf482d8e67f1ull, 0xbc8dae98e223747dull},
        {0x3ffefa1bee615a27ull, 0x3c8ec3bc41aa2008ull},
        {0x3fff252b376bba97ull, 0x3c842b94c3a9eb32ull},
        {0x3fff50765b6e4540ull, 0x3c8a64a931d185eeull},
        {0x3fff7bfdad9cbe14ull, 0xbc8e37bae43be3edull},
        {0x3fffa7c1819e90d8ull, 0x3c77893b4d91cd9dull},
        {0x3fffd3c22b8f71f1ull, 0x3c5305c14160cc89ull},
    };
    return rows[row];
}

// atan(i/64) as a sum of two.
BL_FN const u64 (&atan_row(u32 row))[2] {
    alignas(16) static const u64 rows[65][2] = {
        {0x0000000000000000ull, 0x0000000000000000ull},
        {0x3f8fff555bbb729bull, 0xbc2220c39d4dff50ull},
        {0x3f9ffd55bba97625ull, 0xbc35ec431444912cull},
        {0x3fa7fb818430da2aull, 0xbc086ef8f794f105ull},
        {0x3faff55bb72cfdeaull, 0xbc3c934d86d23f1dull},
        {0x3fb3f59f0e7c559dull, 0x3c5ac4ce285df847ull},
        {0x3fb7ee182602f10full, 0xbc5cfb654c0c3d98ull},
        {0x3fbbe39ebe6f07c3ull, 0x3c5f7b8f29a05987ull},
        {0x3fbfd5ba9aac2f6eull, 0xbc4cd37686760c17ull},
        {0x3fc1e1fafb043727ull, 0xbc4b485914dacf8cull},
        {0x3fc3d6eee8c6626cull, 0x3c661a3b0ce9281bull},
        {0x3fc5c9811e3ec26aull, 0xbc5054ab2c010f3dull},
        {0x3fc7b97b4bce5b02ull, 0x3c5347b0b4f881caull},
        {0x3fc9a6a8e96c8626ull, 0x3c4cf601e7b4348eull},
        {0x3fcb90d7529260a2ull, 0x3c217b10d2e0e5abull},
        {0x3fcd77d5df205736ull, 0x3c6c648d1534597eull},
        {0x3fcf5b75f92c80ddull, 0x3c68ab6e3cf7afbdull},
        {0x3fd09dc597d86362ull, 0x3c762e47390cb865ull},
        {0x3fd18bf5a30bf178ull, 0x3c630ca4748b1bf9ull},
        {0x3fd278372057ef46ull, 0xbc7077cdd36dfc81ull},
        {0x3fd362773707ebccull, 0xbc6963a544b672d8ull},
        {0x3fd44aa436c2af0aull, 0xbc75d5e43c55b3baull},
        {0x3fd530ad9951cd4aull, 0xbc62566480884082ull},
        {0x3fd614840309cfe2ull, 0xbc7a725715711f00ull},
        {0x3fd6f61941e4def1ull, 0xbc7c63aae6f6e918ull},
        {0x3fd7d5604b63b3f7ull, 0x3c769c885c2b249aull},
        {0x3fd8b24d394a1b25ull, 0x3c7b6d0ba3748fa8ull},
        {0x3fd98cd5454d6b18ull, 0x3c79e6c988fd0a77ull},
        {0x3fda64eec3cc23fdull, 0xbc724dec1b50b7ffull},
        {0x3fdb3a911da65c6cull, 0x3c7ae187b1ca5040ull},
        {0x3fdc0db4c94ec9f0ull, 0xbc7cc1ce70934c34ull},
        {0x3fdcde53432c1351ull, 0xbc7a2cfa4418f1adull},
        {0x3fddac670561bb4full, 0x3c7a2b7f222f65e2ull},
        {0x3fde77eb7f175a34ull, 0x3c70e53dc1bf3435ull},
        {0x3fdf40dd0b541418ull, 0xbc6a3992dc382a23ull},
        {0x3fe0039c73c1a40cull, 0xbc8b32c949c9d593ull},
        {0x3fe0657e94db30d0ull, 0xbc7d5b495f6349e6ull},
        {0x3fe0c6145b5b43daull, 0x3c5974fa13b5404full},
        {0x3fe1255d9bfbd2a9ull, 0xbc52bdaee1c0ee35ull},
        {0x3fe1835a88be7c13ull, 0x3c8c621cec00c301ull},
        {0x3fe1e00babdefeb4ull, 0xbc5928df287a668full},
        {0x3fe23b71e2cc9e6aull, 0x3c6c421c9f38224eull},
        {0x3fe2958e59308e31ull, 0xbc709e73b0c6c087ull},
        {0x3fe2ee628406cbcaull, 0x3c8c5d5e9ff0cf8dull},
        {0x3fe345f01cce37bbull, 0x3c81021137c71102ull},
        {0x3fe39c391cd4171aull, 0xbc82304331d8bf46ull},
        {0x3fe3f13fb89e96f4ull, 0x3c7ecf8b492644f0ull},
        {0x3fe445065b795b56ull, 0xbc7f76d0163f79c8ull},
        {0x3fe4978fa3269ee1ull, 0x3c72419a87f2a458ull},
        {0x3fe4e8de5bb6ec04ull, 0x3c84a33dbeb3796cull},
        {0x3fe538f57b89061full, 0xbc81bb74abda520cull},
        {0x3fe587d81f732fbbull, 0xbc75e5c9d8c5a950ull},
        {0x3fe5d58987169b18ull, 0x3c60028e4bc5e7caull},
        {0x3fe6220d115d7b8eull, 0xbc62b785350ee8c1ull},
        {0x3fe66d663923e087ull, 0xbc76ea6febe8bbbaull},
        {0x3fe6b798920b3d99ull, 0xbc8a80386188c50eull},
        {0x3fe700a7c5784634ull, 0xbc78c34d25aadef6ull},
        {0x3fe748978fba8e0full, 0x3c47b2a6165884a1ull},
        {0x3fe78f6bbd5d315eull, 0x3c8406a089803740ull},
        {0x3fe7d528289fa093ull, 0x3c8560821e2f3aa9ull},
        {0x3fe819d0b7158a4dull, 0xbc7bf76229d3b917ull},
        {0x3fe85d69576cc2c5ull, 0x3c66b66e7fc8b8c3ull},
        {0x3fe89ff5ff57f1f8ull, 0xbc855b9a5e177a1bull},
        {0x3fe8e17aa99cc05eull, 0xbc7ec182ab042f61ull},
        {0x3fe921fb54442d18ull, 0x3c81a62633145c07ull},
    };
    return rows[row];
}

// What a number is multiplied by for its quarter turns modulo 4, in three parts, by its exponent from -32 up.
BL_FN const u64 (&turns_row(u32 row))[3] {
    alignas(16) static const u64 rows[160][3] = {
        {0x0000000000000000ull, 0x3fe0000000000000ull, 0x3fc17cc1b727220bull},
        {0x0000000000000000ull, 0x3fe8000000000000ull, 0xbfbd067c91b1bbebull},
        {0x0000000000000000ull, 0x3fe4000000000000ull, 0x3f87cc1b727220a9ull},
        {0x0000000000000000ull, 0x3fe4000000000000ull, 0x3f87cc1b727220a9ull},
        {0x0000000000000000ull, 0x3fe4000000000000ull, 0x3f87cc1b727220a9ull},
        {0x0000000000000000ull, 0x3fe4800000000000ull, 0xbf7067c91b1bbeadull},
        {0x0000000000000000ull, 0x3fe4400000000000ull, 0x3f6f306dc9c882a5ull},
        {0x0000000000000000ull, 0x3fe4600000000000ull, 0xbf19f246c6efab58ull},
        {0x0000000000000000ull, 0x3fe4600000000000ull, 0xbf19f246c6efab58ull},
        {0x0000000000000000ull, 0x3fe4600000000000ull, 0xbf19f246c6efab58ull},
        {0x0000000000000000ull, 0x3fe4600000000000ull, 0xbf19f246c6efab58ull},
        {0x0000000000000000ull, 0x3fe4600000000000ull, 0xbf19f246c6efab58ull},
        {0x0000000000000000ull, 0x3fe45f0000000000ull, 0x3ef836e4e44152a0ull},
        {0x0000000000000000ull, 0x3fe45f0000000000ull, 0x3ef836e4e44152a0ull},
        {0x0000000000000000ull, 0x3fe45f4000000000ull, 0xbedf246c6efab581ull},
        {0x0000000000000000ull, 0x3fe45f4000000000ull, 0xbedf246c6efab581ull},
        {0x0000000000000000ull, 0x3fe45f3000000000ull, 0x3e8b727220a94fe1ull},
        {0x0000000000000000ull, 0x3fe45f3000000000ull, 0x3e8b727220a94fe1ull},
        {0x0000000000000000ull, 0x3fe45f3000000000ull, 0x3e8b727220a94fe1ull},
        {0x0000000000000000ull, 0x3fe45f3000000000ull, 0x3e8b727220a94fe1ull},
        {0x0000000000000000ull, 0x3fe45f3000000000ull, 0x3e8b727220a94fe1ull},
        {0x0000000000000000ull, 0x3fe45f3080000000ull, 0xbe6236377d5ac07bull},
        {0x0000000000000000ull, 0x3fe45f3080000000ull, 0xbe6236377d5ac07bull},
        {0x0000000000000000ull, 0x3fe45f3060000000ull, 0x3e5b9391054a7f0aull},
        {0x0000000000000000ull, 0x3fe45f3070000000ull, 0xbe31b1bbead603d9ull},
        {0x0000000000000000ull, 0x3fe45f3070000000ull, 0xbe31b1bbead603d9ull},
        {0x0000000000000000ull, 0x3fe45f306c000000ull, 0x3e2c9c882a53f84full},
        {0x0000000000000000ull, 0x3fe45f306e000000ull, 0xbdfb1bbead603d8bull},
        {0x3ff0000000000000ull, 0xbfd7419f24000000ull, 0xbdfb1bbead603d8bull},
        {0x3fe0000000000000ull, 0x3fc17cc1b8000000ull, 0xbdfb1bbead603d8bull},
        {0x3fe8000000000000ull, 0xbfbd067c92000000ull, 0x3dd391054a7f09d6ull},
        {0x3fe4000000000000ull, 0x3f87cc1b70000000ull, 0x3dd391054a7f09d6ull},
        {0x3fe4000000000000ull, 0x3f87cc1b74000000ull, 0xbdc8ddf56b01ec54ull},
        {0x3fe4000000000000ull, 0x3f87cc1b72000000ull, 0x3dac882a53f84eb0ull},
        {0x3fe4800000000000ull, 0xbf7067c91c000000ull, 0x3dac882a53f84eb0ull},
        {0x3fe4400000000000ull, 0x3f6f306dca000000ull, 0xbd7bbead603d8a83ull},
        {0x3fe4600000000000ull, 0xbf19f246c0000000ull, 0xbd7bbead603d8a83ull},
        {0x3fe4600000000000ull, 0xbf19f246c0000000ull, 0xbd7bbead603d8a83ull},
        {0x3fe4600000000000ull, 0xbf19f246c8000000ull, 0x3d51054a7f09d5f4ull},
        {0x3fe4600000000000ull, 0xbf19f246c8000000ull, 0x3d51054a7f09d5f4ull},
        {0x3fe4600000000000ull, 0xbf19f246c6000000ull, 0xbd4df56b01ec5417ull},
        {0x3fe45f0000000000ull, 0x3ef836e4e4000000ull, 0x3d1054a7f09d5f48ull},
        {0x3fe45f0000000000ull, 0x3ef836e4e4000000ull, 0x3d1054a7f09d5f48ull},
        {0x3fe45f4000000000ull, 0xbedf246c70000000ull, 0x3d1054a7f09d5f48ull},
        {0x3fe45f4000000000ull, 0xbedf246c6e000000ull, 0xbd0f56b01ec54170ull},
        {0x3fe45f3000000000ull, 0x3e8b727220000000ull, 0x3cb529fc2757d1f5ull},
        {0x3fe45f3000000000ull, 0x3e8b727220000000ull, 0x3cb529fc2757d1f5ull},
        {0x3fe45f3000000000ull, 0x3e8b727220000000ull, 0x3cb529fc2757d1f5ull},
        {0x3fe45f3000000000ull, 0x3e8b727220000000ull, 0x3cb529fc2757d1f5ull},
        {0x3fe45f3000000000ull, 0x3e8b727220000000ull, 0x3cb529fc2757d1f5ull},
        {0x3fe45f3080000000ull, 0xbe6236377c000000ull, 0xbca5ac07b1505c16ull},
        {0x3fe45f3080000000ull, 0xbe6236377e000000ull, 0x3c94a7f09d5f47d5ull},
        {0x3fe45f3060000000ull, 0x3e5b939106000000ull, 0xbc86b01ec5417056ull},
        {0x3fe45f3070000000ull, 0xbe31b1bbec000000ull, 0x3c729fc2757d1f53ull},
        {0x3fe45f3070000000ull, 0xbe31b1bbea000000ull, 0xbc6ac07b1505c159ull},
        {0x3fe45f306c000000ull, 0x3e2c9c882a000000ull, 0x3c44fe13abe8fa9aull},
        {0x3fe45f306e000000ull, 0xbdfb1bbeb0000000ull, 0x3c44fe13abe8fa9aull},
        {0x3fe45f306e000000ull, 0xbdfb1bbeac000000ull, 0xbc3603d8a82e0acbull},
        {0x3fc17cc1b8000000ull, 0xbdfb1bbeae000000ull, 0x3c23f84eafa3ea6aull},
        {0x3fc17cc1b7000000ull, 0x3dd391054c000000ull, 0xbc180f62a0b82b2dull},
        {0x3f87cc1b70000000ull, 0x3dd391054a000000ull, 0x3bffc2757d1f534eull},
        {0x3f87cc1b74000000ull, 0xbdc8ddf56c000000ull, 0x3bffc2757d1f534eull},
        {0x3f87cc1b72000000ull, 0x3dac882a54000000ull, 0xbb8ec54170565912ull},
        {0x3f87cc1b72000000ull, 0x3dac882a54000000ull, 0xbb8ec54170565912ull},
        {0x3f6f306dca000000ull, 0xbd7bbead60000000ull, 0xbb8ec54170565912ull},
        {0x3f6f306dca000000ull, 0xbd7bbead60000000ull, 0xbb8ec54170565912ull},
        {0x3f5e60db94000000ull, 0xbd7bbead60000000ull, 0xbb8ec54170565912ull},
        {0x3f4cc1b727000000ull, 0x3d51054a80000000ull, 0xbb8ec54170565912ull},
        {0x3f39836e4e000000ull, 0x3d51054a80000000ull, 0xbb8ec54170565912ull},
        {0x3f2306dc9d000000ull, 0xbd4df56b02000000ull, 0x3b43abe8fa9a6ee0ull},
        {0x3ef836e4e4000000ull, 0x3d1054a7f0000000ull, 0x3b43abe8fa9a6ee0ull},
        {0x3ef836e4e4000000ull, 0x3d1054a7f0000000ull, 0x3b43abe8fa9a6ee0ull},
        {0x3ef836e4e4000000ull, 0x3d1054a7f0000000ull, 0x3b43abe8fa9a6ee0ull},
        {0x3ee06dc9c9000000ull, 0xbd0f56b01e000000ull, 0xbb38a82e0acb223full},
        {0x3e8b727220000000ull, 0x3cb529fc20000000ull, 0x3b1d5f47d4d37703ull},
        {0x3e8b727220000000ull, 0x3cb529fc20000000ull, 0x3b1d5f47d4d37703ull},
        {0x3e8b727220000000ull, 0x3cb529fc28000000ull, 0xbae505c1596447e5ull},
        {0x3e8b727220000000ull, 0x3cb529fc28000000ull, 0xbae505c1596447e5ull},
        {0x3e8b727220000000ull, 0x3cb529fc28000000ull, 0xbae505c1596447e5ull},
        {0x3e8b727221000000ull, 0xbca5ac07b2000000ull, 0x3ad5f47d4d377037ull},
        {0x3e76e4e441000000ull, 0x3c94a7f09e000000ull, 0xbac4170565911f92ull},
        {0x3e5b939106000000ull, 0xbc86b01ec6000000ull, 0x3ab7d1f534ddc0dbull},
        {0x3e5b939105000000ull, 0x3c729fc276000000ull, 0xbaa05c1596447e49ull},
        {0x3e4727220b000000ull, 0xbc6ac07b16000000ull, 0x3a9f47d4d377036eull},
        {0x3e2c9c882a000000ull, 0x3c44fe13ac000000ull, 0xba470565911f924full},
        {0x3e2c9c882a000000ull, 0x3c44fe13ac000000ull, 0xba470565911f924full},
        {0x3e19391055000000ull, 0xbc3603d8a8000000ull, 0xba470565911f924full},
        {0x3e027220a9000000ull, 0x3c23f84eb0000000ull, 0xba470565911f924full},
        {0x3dd391054c000000ull, 0xbc180f62a0000000ull, 0xba470565911f924full},
        {0x3dd391054a000000ull, 0x3bffc2757c000000ull, 0x3a31f534ddc0db63ull},
        {0x3dd391054a000000ull, 0x3bffc2757e000000ull, 0xba2c1596447e493bull},
        {0x3dac882a54000000ull, 0xbb8ec54180000000ull, 0x39ff534ddc0db629ull},
        {0x3dac882a54000000ull, 0xbb8ec54180000000ull, 0x39ff534ddc0db629ull},
        {0x3dac882a54000000ull, 0xbb8ec54180000000ull, 0x39ff534ddc0db629ull},
        {0x3d991054a8000000ull, 0xbb8ec54170000000ull, 0xb9a596447e493ad5ull},
        {0x3d8220a950000000ull, 0xbb8ec54170000000ull, 0xb9a596447e493ad5ull},
        {0x3d51054a80000000ull, 0xbb8ec54170000000ull, 0xb9a596447e493ad5ull},
        {0x3d51054a80000000ull, 0xbb8ec54170000000ull, 0xb9a596447e493ad5ull},
        {0x3d51054a7f000000ull, 0x3b43abe900000000ull, 0xb9a596447e493ad5ull},
        {0x3d1054a7f0000000ull, 0x3b43abe8f8000000ull, 0x3994d377036d8a56ull},
        {0x3d1054a7f0000000ull, 0x3b43abe8fc000000ull, 0xb9865911f924eb53ull},
        {0x3d1054a7f0000000ull, 0x3b43abe8fa000000ull, 0x39734ddc0db6295aull},
        {0x3d1054a7f1000000ull, 0xbb38a82e0a000000ull, 0xb9696447e493ad4dull},
        {0x3cb529fc20000000ull, 0x3b1d5f47d4000000ull, 0x394a6ee06db14acdull},
        {0x3cb529fc20000000ull, 0x3b1d5f47d4000000ull, 0x394a6ee06db14acdull},
        {0x3cb529fc28000000ull, 0xbae505c158000000ull, 0xb926447e493ad4ceull},
        {0x3cb529fc28000000ull, 0xbae505c158000000ull, 0xb926447e493ad4ceull},
        {0x3cb529fc28000000ull, 0xbae505c15a000000ull, 0x391377036d8a5665ull},
        {0x3cb529fc27000000ull, 0x3ad5f47d4e000000ull, 0xb90911f924eb5336ull},
        {0x3c94a7f09e000000ull, 0xbac4170566000000ull, 0x38ebb81b6c52b328ull},
        {0x3c94a7f09d000000ull, 0x3ab7d1f534000000ull, 0x38ebb81b6c52b328ull},
        {0x3c729fc276000000ull, 0xbaa05c1596000000ull, 0xb8c11f924eb53362ull},
        {0x3c729fc275000000ull, 0x3a9f47d4d4000000ull, 0xb8c11f924eb53362ull},
        {0x3c44fe13ac000000ull, 0xba470565a0000000ull, 0x38bdc0db6295993cull},
        {0x3c44fe13ac000000ull, 0xba47056590000000ull, 0xb881f924eb53361eull},
        {0x3c44fe13ac000000ull, 0xba47056590000000ull, 0xb881f924eb53361eull},
        {0x3c23f84eb0000000ull, 0xba47056590000000ull, 0xb881f924eb53361eull},
        {0x3c23f84eb0000000ull, 0xba47056592000000ull, 0x387c0db6295993c4ull},
        {0x3bffc2757c000000ull, 0x3a31f534de000000ull, 0xb84f924eb53361deull},
        {0x3bffc2757e000000ull, 0xba2c159644000000ull, 0xb84f924eb53361deull},
        {0x3bffc2757d000000ull, 0x39ff534de0000000ull, 0xb84f924eb53361deull},
        {0x3bef84eafa000000ull, 0x39ff534ddc000000ull, 0x37eb6c52b3278872ull},
        {0x3bdf09d5f4000000ull, 0x39ff534ddc000000ull, 0x37eb6c52b3278872ull},
        {0x3bce13abe9000000ull, 0xb9a5964480000000ull, 0x37eb6c52b3278872ull},
        {0x3bbc2757d2000000ull, 0xb9a5964480000000ull, 0x37eb6c52b3278872ull},
        {0x3ba84eafa4000000ull, 0xb9a5964480000000ull, 0x37eb6c52b3278872ull},
        {0x3b909d5f48000000ull, 0xb9a5964480000000ull, 0x37eb6c52b3278872ull},
        {0x3b43abe900000000ull, 0xb9a596447e000000ull, 0xb7c24eb53361de38ull},
        {0x3b43abe8f8000000ull, 0x3994d37704000000ull, 0xb7c24eb53361de38ull},
        {0x3b43abe8fc000000ull, 0xb9865911fa000000ull, 0x37bb6295993c4390ull},
        {0x3b43abe8fa000000ull, 0x39734ddc0e000000ull, 0xb79275a99b0ef1bfull},
        {0x3b43abe8fb000000ull, 0xb9696447e4000000ull, 0xb79275a99b0ef1bfull},
        {0x3b1d5f47d4000000ull, 0x394a6ee06c000000ull, 0x378b14acc9e21c82ull},
        {0x3b1d5f47d4000000ull, 0x394a6ee06e000000ull, 0xb763ad4cd8778df8ull},
        {0x3b1d5f47d5000000ull, 0xb926447e48000000ull, 0xb763ad4cd8778df8ull},
        {0x3b0abe8faa000000ull, 0xb926447e4a000000ull, 0x3758a5664f10e410ull},
        {0x3af57d1f53000000ull, 0x391377036e000000ull, 0xb73d6a66c3bc6fbeull},
        {0x3ad5f47d4e000000ull, 0xb90911f924000000ull, 0xb73d6a66c3bc6fbeull},
        {0x3ad5f47d4d000000ull, 0x38ebb81b6c000000ull, 0x3704acc9e21c8210ull},
        {0x3ab7d1f534000000ull, 0x38ebb81b6c000000ull, 0x3704acc9e21c8210ull},
        {0x3ab7d1f535000000ull, 0xb8c11f9250000000ull, 0x3704acc9e21c8210ull},
        {0x3a9f47d4d4000000ull, 0xb8c11f924e000000ull, 0xb6f6a66c3bc6fbe0ull},
        {0x3a9f47d4d3000000ull, 0x38bdc0db62000000ull, 0x36e2b32788720840ull},
        {0x3a8e8fa9a7000000ull, 0xb881f924e8000000ull, 0xb6da99b0ef1bef80ull},
        {0x3a7d1f534e000000ull, 0xb881f924ec000000ull, 0x36b5993c439041feull},
        {0x3a6a3ea69c000000ull, 0xb881f924ec000000ull, 0x36b5993c439041feull},
        {0x3a547d4d37000000ull, 0x387c0db62a000000ull, 0xb6a4cd8778df7c03ull},
        {0x3a31f534de000000ull, 0xb84f924eb8000000ull, 0x369664f10e4107f9ull},
        {0x3a31f534de000000ull, 0xb84f924eb4000000ull, 0xb683361de37df00dull},
        {0x39ff534de0000000ull, 0xb84f924eb6000000ull, 0x367993c439041fe5ull},
        {0x39ff534ddc000000ull, 0x37eb6c52c0000000ull, 0xb659b0ef1bef806cull},
        {0x39ff534ddc000000ull, 0x37eb6c52c0000000ull, 0xb659b0ef1bef806cull},
        {0x39ff534ddc000000ull, 0x37eb6c52b0000000ull, 0x36393c439041fe51ull},
        {0x39eea69bb8000000ull, 0x37eb6c52b0000000ull, 0x36393c439041fe51ull},
        {0x39dd4d3770000000ull, 0x37eb6c52b4000000ull, 0xb61b0ef1bef806baull},
        {0x39ca9a6ee0000000ull, 0x37eb6c52b4000000ull, 0xb61b0ef1bef806baull},
        {0x39b534ddc1000000ull, 0xb7c24eb534000000ull, 0x35f3c439041fe516ull},
        {0x3994d37704000000ull, 0xb7c24eb534000000ull, 0x35f3c439041fe516ull},
        {0x3994d37703000000ull, 0x37bb62959a000000ull, 0xb5e8778df7c035d4ull},
        {0x39734ddc0e000000ull, 0xb79275a99c000000ull, 0x35ce21c820ff28b2ull},
    };
    return rows[row];
}

// 2/pi as a fraction, 64 bits per row, after 128 bits that are 0.
BL_FN const u64 (&quarter_turns_row(u32 row))[1] {
    alignas(16) static const u64 rows[21][1] = {
        {0x0000000000000000ull},
        {0x0000000000000000ull},
        {0xa2f9836e4e441529ull},
        {0xfc2757d1f534ddc0ull},
        {0xdb6295993c439041ull},
        {0xfe5163abdebbc561ull},
        {0xb7246e3a424dd2e0ull},
        {0x06492eea09d1921cull},
        {0xfe1deb1cb129a73eull},
        {0xe88235f52ebb4484ull},
        {0xe99c7026b45f7e41ull},
        {0x3991d639835339f4ull},
        {0x9c845f8bbdf9283bull},
        {0x1ff897ffde05980full},
        {0xef2f118b5a0a6d1full},
        {0x6d367ecf27cb09b7ull},
        {0x4f463f669e5fea2dull},
        {0x7527bac7ebe5f17bull},
        {0x3d0739f78a5292eaull},
        {0x6bfb5fb11f8d5d08ull},
        {0x56033046fc7b6babull},
    };
    return rows[row];
}

// sin(i/64) and cos(i/64), each as a sum of two.
BL_FN const u64 (&sin_cos_row(u32 row))[4] {
    alignas(16) static const u64 rows[52][4] = {
        {0x0000000000000000ull, 0x0000000000000000ull, 0x3ff0000000000000ull, 0x0000000000000000ull},
        {0x3f8fffaaaaeeeed5ull, 0xbc02ab639a9f0776ull, 0x3fefff000155549full, 0x3c828a28a03a5ef3ull},
        {0x3f9ffeaaaeeee86full, 0xbc3cd406fb224ae2ull, 0x3feffc00155527d3ull, 0xbc83b54492d89b5bull},
        {0x3fa7fdc01032fba9ull, 0xbc4599bdf46e997aull, 0x3feff7006bfdf99full, 0xbc78b3b560648d5full},
        {0x3faffaaaeeed4edbull, 0xbc42d16d32684b69ull, 0x3feff0015549f4d3ull, 0x3c8328387b99426full},
        {0x3fb3facb12d1755bull, 0xbc5921915299468bull, 0x3fefe7034129ef6full, 0xbc6cbf4337c96f97ull},
        {0x3fb7f701032550e4ull, 0x3c3afc2d1800501aull, 0x3fefdc06bf7e6b9bull, 0x3c831902b535f8dbull},
        {0x3fbbf1b78568391dull, 0x3c5e91841dea4cc8ull, 0x3fefcf0c800e99b1ull, 0x3c6ea3d786d186acull},
        {0x3fbfeaaeee86ee36ull, 0xbc4afcb2bcc6f03bull, 0x3fefc015527d5bd3ull, 0x3c8b68f35094efb8ull},
        {0x3fc1f0d3d7afceafull, 0xbc66ef95099769a5ull, 0x3fefaf22263c4bd3ull, 0xbc552ace133a2769ull},
        {0x3fc3eb312c5d66cbull, 0x3c647d666b66cb91ull, 0x3fef9c340a7cc428ull, 0x3c8c5b6b063b7462ull},
        {0x3fc5e44fcfa126f3ull, 0xbc66f443063f89b6ull, 0x3fef874c2e1eecf6ull, 0xbc8c6514e1332b16ull},
        {0x3fc7dc102fbaf2b5ull, 0x3c45ab50e23c97c3ull, 0x3fef706bdf9ece1cull, 0xbc8698c80c36dcb4ull},
        {0x3fc9d252d0cec312ull, 0x3c59c43d80b1137dull, 0x3fef57948cff6797ull, 0x3c6e3a0d3e03b1d4ull},
        {0x3fcbc6f84edc6199ull, 0x3c69c1a56a7b0cabull, 0x3fef3cc7c3b3d16eull, 0xbc621a3ad28a3494ull},
        {0x3fcdb9e15fb5a5d0ull, 0xbc632e20d6cc6fc2ull, 0x3fef20073086649full, 0x3c7b940416c1984bull},
        {0x3fcfaaeed4f31577ull, 0xbc615d88508e32b8ull, 0x3fef01549f7deea1ull, 0x3c8d3c1e99e5cafdull},
        {0x3fd0cd00cef36436ull, 0xbc79fb0a0c93e2b4ull, 0x3feee0b1fbc0f11cull, 0xbc4bfd2380bbc3b1ull},
        {0x3fd1c37d64c6b876ull, 0x3c746076fe0dcff4ull, 0x3feebe214f76efa8ull, 0xbc802f9f12ba543eull},
        {0x3fd2b8ddc43eb49full, 0x3c61553899f2d807ull, 0x3fee99a4c3a7cd83ull, 0xbc82264b1bc53ce8ull},
        {0x3fd3ad129769d3d8ull, 0x3c003d550487839aull, 0x3fee733ea0193d40ull, 0xbc86428b3546ce13ull},
        {0x3fd4a00c9b0f3d20ull, 0x3c7823ba6bb08eadull, 0x3fee4af14b2a449cull, 0xbc868ca02e8a6833ull},
        {0x3fd591bc9fa2f597ull, 0x3c67c74bac3fe0cbull, 0x3fee20bf49acd6c1ull, 0xbc5660aec7ef636bull},
        {0x3fd682138a38d7f7ull, 0xbc7d889202444aadull, 0x3fedf4ab3ebd875eull, 0xbc8e2d8a7e6736c4ull},
        {0x3fd7710255764214ull, 0xbc66ead7314bb6ceull, 0x3fedc6b7eb995912ull, 0x3c54b364776dcd35ull},
        {0x3fd85e7a12826949ull, 0x3c78a40e9b5face0ull, 0x3fed96e82f71a9dcull, 0x3c8ff61bd5d2039dull},
        {0x3fd94a6be9f546c5ull, 0xbc769ce13e683f58ull, 0x3fed653f073e4040ull, 0xbc876236434bec37ull},
        {0x3fda34c91cc50ccaull, 0xbc5a310e3b50cecdull, 0x3fed31bf8d8d7c06ull, 0x3c7e60dd3089cbddull},
        {0x3fdb1d8305321617ull, 0xbc7ae242cb99f519ull, 0x3fecfc6cfa52ad9full, 0x3c88b5b5508f2a0dull},
        {0x3fdc048b17b140a3ull, 0x3c619fe6757e9fa7ull, 0x3fecc54aa2b2972eull, 0x3c64ee162ba83a98ull},
        {0x3fdce9d2e3d4a51full, 0xbc62fc8a12dae298ull, 0x3fec8c5bf8ce1a84ull, 0x3c7ab3d1a1590123ull},
        {0x3fddcd4c15329c9aull, 0x3c70d4c6e171fd9aull, 0x3fec51a48b8b175eull, 0xbc61bbb43b9aa880ull},
        {0x3fdeaee8744b05f0ull, 0xbc5789b43c9b027dull, 0x3fec1528065b7d50ull, 0xbc8892111312e828ull},
        {0x3fdf8e99e76abc97ull, 0x3c59d950af2d00a3ull, 0x3febd6ea310294f5ull, 0x3c731bbcc88c109dull},
        {0x3fe0362939c69955ull, 0xbc82d8cd78397b01ull, 0x3feb96eeef58840eull, 0x3c545a3cc78fade0ull},
        {0x3fe0a4021e9e1001ull, 0xbc86f643a13914f6ull, 0x3feb553a410c104eull, 0x3c58ff7947027a15ull},
        {0x3fe110d0c4b69c3bull, 0x3c8d918998809981ull, 0x3feb11d04162a4c6ull, 0x3c71dd561efbc0c2ull},
        {0x3fe17c8e5f2eedb0ull, 0x3c635e57102e2488ull, 0x3feaccb526f69de5ull, 0x3c88fb6a8dd6b6ccull},
        {0x3fe1e7343236574cull, 0x3c722a3fa4f41d5aull, 0x3fea85ed4373e02dull, 0x3c69be06385ec792ull},
        {0x3fe250bb93788bbbull, 0x3c7ea3d02457bcceull, 0x3fea3d7d0352bdcfull, 0xbc868dbaeca19669ull},
        {0x3fe2b91dea88421eull, 0xbc8fa371db216ab0ull, 0x3fe9f368ed912f85ull, 0xbc81d200c5791606ull},
        {0x3fe32054b148bc4full, 0x3c8f6b42095a135bull, 0x3fe9a7b5a36a6514ull, 0x3c8722cfcc9fa7a9ull},
        {0x3fe386597456282bull, 0xbc710fada93b07a8ull, 0x3fe95a67e00cb1fdull, 0xbc80befda21f862dull},
        {0x3fe3eb25d36cd53aull, 0xbc5be570e1570fc0ull, 0x3fe90b84784ddaf7ull, 0xbc70feb10ab93b87ull},
        {0x3fe44eb381cf386bull, 0xbc83ed6c1e6a5505ull, 0x3fe8bb105a5dc900ull, 0x3c8863e03e9474c1ull},
        {0x3fe4b0fc46aab761ull, 0x3c20da05738cc59cull, 0x3fe869108d77a6c6ull, 0x3c7338ffe2bfe9ddull},
        {0x3fe511f9fd7b351cull, 0xbc85c0e861c48831ull, 0x3fe8158a31916d5dull, 0xbc6de8b90b8228deull},
        {0x3fe571a6966d59b3ull, 0x3c5c843b4d0fb197ull, 0x3fe7c0827f09e54full, 0xbc6c73d6d72aee68ull},
        {0x3fe5cffc16bf8f0dull, 0x3c896cb370eb578aull, 0x3fe769fec655211full, 0xbc6827d5cf8c68c5ull},
        {0x3fe62cf49921ac79ull, 0xbc8edd9855b6241aull, 0x3fe712046fa77678ull, 0x3c8425b0a5029c81ull},
        {0x3fe6888a4e134b2full, 0xbc86b7d37644d5e6ull, 0x3fe6b898fa9efb5dull, 0x3c715ac786ccf4b2ull},
        {0x3fe6e2b77c40bde1ull, 0xbc70e729857fad53ull, 0x3fe65dc1fdeb8cbaull, 0xbc597c1b47337c77ull},
    };
    return rows[row];
}

// The result of sin, except for inputs whose result is all but a tie.
BL_FN f64 sin_ties(f64 x, f64 result) {
    result = bits_of(x) == 0x40c3333300000000ull ? from_bits<f64>(0xbfd63f4bafffffffull) : result;
    return result;
}

// The result of cos, except for inputs whose result is all but a tie.
BL_FN f64 cos_ties(f64 x, f64 result) {
    result = bits_of(x) == 0x43e3170f00000000ull ? from_bits<f64>(0x3fefe2976fffffffull) : result;
    result = bits_of(x) == 0x4422b96220000000ull ? from_bits<f64>(0x3fef0285d0000001ull) : result;
    return result;
}

// The result of acos, except for inputs whose result is all but a tie.
BL_FN f64 acos_ties(f64 x, f64 result) {
    result = bits_of(x) == 0x3e5110b460000000ull ? from_bits<f64>(0x3ff921fb50000001ull) : result;
    result = bits_of(x) == 0x3f304c4440000000ull ? from_bits<f64>(0x3ff920f690000001ull) : result;
    return result;
}

// The result of atan, except for inputs whose result is all but a tie.
BL_FN f64 atan_ties(f64 x, f64 result) {
    result = bits_of(x) == 0x3fb1ad6460000000ull ? from_bits<f64>(0x3fb1a63850000001ull) : result;
    return result;
}

// (sin(pi/2 f) / f - pi/2) / u for u = f^2 up to 1/4.
BL_FN f64 sin_quarter_turns(f64 u) {
    f64 s = from_bits<f64>(0xbe06cc57721835e9ull);
    s = from_bits<f64>(0x3e6e8f036bad565cull) + u * s;
    s = from_bits<f64>(0xbece3074d2612a98ull) + u * s;
    s = from_bits<f64>(0x3f250783486fac9bull) + u * s;
    s = from_bits<f64>(0xbf732d2cce62b872ull) + u * s;
    s = from_bits<f64>(0x3fb466bc6775aae1ull) + u * s;
    s = from_bits<f64>(0xbfe4abbce625be53ull) + u * s;
    return s;
}

// (cos(pi/2 f) - 1) / u for u = f^2 up to 1/4.
BL_FN f64 cos_quarter_turns(f64 u) {
    f64 s = from_bits<f64>(0xbe3b2f3ea0ac5741ull);
    s = from_bits<f64>(0x3e9f9ce2459fca91ull) + u * s;
    s = from_bits<f64>(0xbefa6d1eef476fd6ull) + u * s;
    s = from_bits<f64>(0x3f4e1f5068688d32ull) + u * s;
    s = from_bits<f64>(0xbf955d3c7e3cb241ull) + u * s;
    s = from_bits<f64>(0x3fd03c1f081b5ac0ull) + u * s;
    s = from_bits<f64>(0xbff3bd3cc9be45deull) + u * s;
    return s;
}

// (asin(v) / v - 1) / u for u = v^2 up to 1/4.
BL_FN f64 asin_series(f64 u) {
    f64 s = from_bits<f64>(0x3f9e529c6fce9bb4ull);
    s = from_bits<f64>(0xbf93b416bb7d9257ull) + u * s;
    s = from_bits<f64>(0x3f9406192d124629ull) + u * s;
    s = from_bits<f64>(0x3f68f193743418ffull) + u * s;
    s = from_bits<f64>(0x3f831622469ce5adull) + u * s;
    s = from_bits<f64>(0x3f83b49de7121487ull) + u * s;
    s = from_bits<f64>(0x3f87b027ee1dd585ull) + u * s;
    s = from_bits<f64>(0x3f8c990ad3d8fdcaull) + u * s;
    s = from_bits<f64>(0x3f91c4efce23019full) + u * s;
    s = from_bits<f64>(0x3f96e8ba123e494cull) + u * s;
    s = from_bits<f64>(0x3f9f1c71c7a52ba3ull) + u * s;
    s = from_bits<f64>(0x3fa6db6db6dac1e0ull) + u * s;
    s = from_bits<f64>(0x3fb3333333333388ull) + u * s;
    s = from_bits<f64>(0x3fc5555555555555ull) + u * s;
    return s;
}

}  // namespace math
}  // namespace bl
