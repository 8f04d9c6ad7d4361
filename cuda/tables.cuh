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
#define BL_HALF_PI_F32 from_bits<f32>(0x3fc90fdbu)
#define BL_HALF_PI_F32_REST from_bits<f32>(0xb33bbd2eu)

// (sin(r) / r - 1) / u for u = r^2 up to (pi/4)^2.
BL_FN Pair sin_pairs(Pair u) {
    f32 tail = from_bits<f32>(0xab5589b3u);
    tail = angles::fused(u.hi, tail, from_bits<f32>(0x2f3090bcu));
    tail = angles::fused(u.hi, tail, from_bits<f32>(0xb2d7322au));
    Pair s = angles::plus(Pair{from_bits<f32>(0x3638ef1du), from_bits<f32>(0x2928b629u)}, angles::times(u, tail));
    s = angles::plus(Pair{from_bits<f32>(0xb9500d01u), from_bits<f32>(0x2c3fccdfu)}, angles::times(u, s));
    s = angles::plus(Pair{from_bits<f32>(0x3c088889u), from_bits<f32>(0xafeeeeefu)}, angles::times(u, s));
    s = angles::plus(Pair{from_bits<f32>(0xbe2aaaabu), from_bits<f32>(0x31aaaaabu)}, angles::times(u, s));
    return s;
}

// (cos(r) - 1) / u for u = r^2 up to (pi/4)^2.
BL_FN Pair cos_pairs(Pair u) {
    f32 tail = from_bits<f32>(0xad47fa90u);
    tail = angles::fused(u.hi, tail, from_bits<f32>(0x310f753cu));
    tail = angles::fused(u.hi, tail, from_bits<f32>(0xb493f27cu));
    Pair s = angles::plus(Pair{from_bits<f32>(0x37d00d01u), from_bits<f32>(0xaac454fcu)}, angles::times(u, tail));
    s = angles::plus(Pair{from_bits<f32>(0xbab60b61u), from_bits<f32>(0x2e13ea2eu)}, angles::times(u, s));
    s = angles::plus(Pair{from_bits<f32>(0x3d2aaaabu), from_bits<f32>(0xb0aaaaabu)}, angles::times(u, s));
    s = angles::plus(Pair{from_bits<f32>(0xbf000000u), from_bits<f32>(0x2070da5au)}, angles::times(u, s));
    return s;
}

// (asin(v) / v - 1) / u for u = v^2 up to 1/4.
BL_FN Pair asin_pairs(Pair u) {
    f32 tail = from_bits<f32>(0x3ce6c322u);
    tail = angles::fused(u.hi, tail, from_bits<f32>(0xbc301cc9u));
    tail = angles::fused(u.hi, tail, from_bits<f32>(0x3c835ce9u));
    tail = angles::fused(u.hi, tail, from_bits<f32>(0x3bffafe2u));
    tail = angles::fused(u.hi, tail, from_bits<f32>(0x3c42916fu));
    Pair s = angles::plus(Pair{from_bits<f32>(0x3c643933u), from_bits<f32>(0xaeae042eu)}, angles::times(u, tail));
    s = angles::plus(Pair{from_bits<f32>(0x3c8e2c9eu), from_bits<f32>(0x2ff63b2bu)}, angles::times(u, s));
    s = angles::plus(Pair{from_bits<f32>(0x3cb74596u), from_bits<f32>(0xb044ef42u)}, angles::times(u, s));
    s = angles::plus(Pair{from_bits<f32>(0x3cf8e390u), from_bits<f32>(0xafd5b2cau)}, angles::times(u, s));
    s = angles::plus(Pair{from_bits<f32>(0x3d36db6eu), from_bits<f32>(0xb097b496u)}, angles::times(u, s));
    s = angles::plus(Pair{from_bits<f32>(0x3d99999au), from_bits<f32>(0xb14cc926u)}, angles::times(u, s));
    s = angles::plus(Pair{from_bits<f32>(0x3e2aaaabu), from_bits<f32>(0xb1aaaaabu)}, angles::times(u, s));
    return s;
}

// (atan(t) / t - 1) / u for u = t^2 up to 2^-14.
BL_FN Pair atan_pairs(Pair u) {
    f32 tail = from_bits<f32>(0xbe1243cfu);
    tail = angles::fused(u.hi, tail, from_bits<f32>(0x3e4ccccdu));
    Pair s = angles::plus(Pair{from_bits<f32>(0xbeaaaaabu), from_bits<f32>(0x322aaab2u)}, angles::times(u, tail));
    return s;
}

// 2/pi as a fraction, 32 bits per word, after 32 bits that are 0.
BL_FN u32 quarter_turns_word(u32 index) {
    static const u32 words[8] = {
        0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu
    };
    return words[index];
}

// atan(i/64).
BL_FN Pair atan_pair(u32 index) {
    alignas(8) static const u32 rows[65][2] = {
        {0x00000000u, 0x00000000u},
        {0x3c7ffaabu, 0xaf0891adu},
        {0x3cffeaaeu, 0xaf8ad13bu},
        {0x3d3fdc0cu, 0x30061b45u},
        {0x3d7faadeu, 0xb08d3021u},
        {0x3d9facf8u, 0x3167c55au},
        {0x3dbf70c1u, 0x30c05e22u},
        {0x3ddf1cf6u, 0xafc87c1eu},
        {0x3dfeadd5u, 0xb0aa7a12u},
        {0x3e0f0fd8u, 0xb11f791bu},
        {0x3e1eb777u, 0x318c6627u},
        {0x3e2e4c09u, 0xb0609ecbu},
        {0x3e3dcbdau, 0x31bce5b0u},
        {0x3e4d3547u, 0x3196c862u},
        {0x3e5c86bbu, 0xb1d6d9f6u},
        {0x3e6bbeafu, 0xafdfa8cau},
        {0x3e7adbb0u, 0xb15a6fe4u},
        {0x3e84ee2du, 0xb20279cau},
        {0x3e8c5fadu, 0x3142fc5eu},
        {0x3e93c1b9u, 0x2fafde8bu},
        {0x3e9b13bau, 0xb20f8143u},
        {0x3ea25522u, 0xb213d50fu},
        {0x3ea9856du, 0xb1d5c657u},
        {0x3eb0a420u, 0x314273f8u},
        {0x3eb7b0cau, 0x30f26f78u},
        {0x3ebeab02u, 0x32363b3fu},
        {0x3ec5926au, 0xb1d6bc9bu},
        {0x3ecc66aau, 0x31a9ad63u},
        {0x3ed32776u, 0x317308ffu},
        {0x3ed9d489u, 0xb11668e5u},
        {0x3ee06da6u, 0x3214ec9fu},
        {0x3ee6f29au, 0x314b04d4u},
        {0x3eed6338u, 0x31ac376au},
        {0x3ef3bf5cu, 0xb068a5ccu},
        {0x3efa06e8u, 0x32354141u},
        {0x3f001ce4u, 0xb2c3e5bfu},
        {0x3f032bf5u, 0xb2b24cf3u},
        {0x3f0630a3u, 0xb2149785u},
        {0x3f092aedu, 0xb20085abu},
        {0x3f0c1ad4u, 0x328be7c1u},
        {0x3f0f005du, 0x32bdefebu},
        {0x3f11db8fu, 0x31b3279bu},
        {0x3f14ac73u, 0xb259ee3au},
        {0x3f177314u, 0x3200d979u},
        {0x3f1a2f81u, 0xb1cc7211u},
        {0x3f1ce1c9u, 0xb1cafa3au},
        {0x3f1f89feu, 0xb26c2d21u},
        {0x3f222833u, 0xb210d495u},
        {0x3f24bc7du, 0x31c9a7b8u},
        {0x3f2746f3u, 0xb209227fu},
        {0x3f29c7acu, 0xb20edf3cu},
        {0x3f2c3ec1u, 0xb08cd045u},
        {0x3f2eac4cu, 0x3262d363u},
        {0x3f311069u, 0xb2ea2847u},
        {0x3f336b32u, 0xb25b83efu},
        {0x3f35bcc5u, 0xb2df4c26u},
        {0x3f38053eu, 0x322f08c6u},
        {0x3f3a44bcu, 0x32fba8e1u},
        {0x3f3c7b5eu, 0xb1a8b3a8u},
        {0x3f3ea941u, 0x3289fa09u},
        {0x3f40ce86u, 0xb28ea75bu},
        {0x3f42eb4bu, 0xb28933d4u},
        {0x3f44ffb0u, 0xb0a80e08u},
        {0x3f470bd5u, 0x3299cc06u},
        {0x3f490fdbu, 0xb2bbbd2eu},
    };
    return Pair{from_bits<f32>(rows[index][0]), from_bits<f32>(rows[index][1])};
}

// Whether the pair for sin of this operand is on the wrong side of a tie.
BL_FN bool sin_is_missed(f32 x) {
    static const u32 inputs[50] = {
        0x3a1285ffu, 0x3a852018u, 0x3dcf5597u, 0x3ef3830fu, 0x42d44528u, 0x45e38b6eu, 0x4605b1c7u, 0x46199998u, 0x4967cb9bu,
        0x497d25c7u, 0x4a987933u, 0x4cf3e70eu, 0x4db9313eu, 0x4df947f3u, 0x4f45dcabu, 0x4fb56937u, 0x509b1e93u, 0x55cafb2au,
        0x55da572eu, 0x59c871dau, 0x5ad34a5au, 0x5af484beu, 0x5cdaa4f7u, 0x5e060ccau, 0x616d8730u, 0x61dfc847u, 0x636fe56au,
        0x6446cec0u, 0x64e5a461u, 0x653cee8fu, 0x656a98a6u, 0x6652a0dcu, 0x67051b8du, 0x67a9242bu, 0x6a3f60ffu, 0x6d734599u,
        0x6dcea82eu, 0x726fd58eu, 0x7400c9ecu, 0x744e6a54u, 0x7608c65eu, 0x76ecd5e5u, 0x7814e20eu, 0x7970a79du, 0x7a175df8u,
        0x7a5aacdbu, 0x7bcebcddu, 0x7d6b2398u, 0x7f2a2ca7u, 0x7f58cad9u,
    };
    bool found = false;
    for (u32 i = 0; i < 50; ++i) found |= inputs[i] == (bits_of(x) & 0x7fffffffu);
    return found;
}

// Whether the pair for cos of this operand is on the wrong side of a tie.
BL_FN bool cos_is_missed(f32 x) {
    static const u32 inputs[43] = {
        0x3a0f1bbdu, 0x3a544395u, 0x3b434e12u, 0x3dac4fc0u, 0x3faa2672u, 0x3fdb3c0eu, 0x42378db8u, 0x424790ceu, 0x4544de31u,
        0x46f85a22u, 0x47999291u, 0x47a0e238u, 0x4e5b65ffu, 0x4eb4d529u, 0x5027962cu, 0x52d9d3feu, 0x52f88494u, 0x58aae0fbu,
        0x5922aa80u, 0x5a1a3626u, 0x5a8c921bu, 0x5d173a7du, 0x5da7ab87u, 0x5f18b878u, 0x6115cb11u, 0x62fe22bdu, 0x6978e912u,
        0x699f1bf1u, 0x69b7b0b9u, 0x6aa2e13au, 0x71874a79u, 0x731b0e98u, 0x75da4c95u, 0x76545e3cu, 0x768bd236u, 0x7908cd73u,
        0x7a38ab34u, 0x7a879c44u, 0x7bf7c207u, 0x7c06dc1bu, 0x7c352f65u, 0x7d378aefu, 0x7e82fea4u,
    };
    bool found = false;
    for (u32 i = 0; i < 43; ++i) found |= inputs[i] == (bits_of(x) & 0x7fffffffu);
    return found;
}

// Whether the pair for tan of this operand is on the wrong side of a tie.
BL_FN bool tan_is_missed(f32 x) {
    static const u32 inputs[58] = {
        0x3e19205eu, 0x4017205bu, 0x408174ddu, 0x43204c3cu, 0x4389d852u, 0x451e0885u, 0x4872b9fau, 0x4c0a82a3u, 0x4e2ac003u,
        0x4e9bc28bu, 0x4ecbeb44u, 0x4ece8446u, 0x505b24ecu, 0x50ea207bu, 0x51065d81u, 0x51519391u, 0x516ac773u, 0x5349d1b3u,
        0x5586a33au, 0x565e7efbu, 0x56807d7fu, 0x56947c41u, 0x575852f8u, 0x577b61e6u, 0x59dd40f4u, 0x59e8f681u, 0x5a848ab9u,
        0x5be68bcdu, 0x5c1785a1u, 0x5d5873aeu, 0x5d608c2du, 0x5d92978fu, 0x5e51ff1eu, 0x5ef23c3fu, 0x5f285f74u, 0x5ffd33a4u,
        0x611bc894u, 0x613d28d9u, 0x61fe289fu, 0x624684efu, 0x6419641du, 0x64e8e6f3u, 0x6694993eu, 0x68058f5du, 0x690843d2u,
        0x6c045516u, 0x6eac88a4u, 0x72e99894u, 0x750820fcu, 0x7602e9dau, 0x77b68a9fu, 0x7945a734u, 0x7967a335u, 0x7a1605ecu,
        0x7a98d2c2u, 0x7d043c5fu, 0x7dae7426u, 0x7e4f5c9cu,
    };
    bool found = false;
    for (u32 i = 0; i < 58; ++i) found |= inputs[i] == (bits_of(x) & 0x7fffffffu);
    return found;
}

// Whether the pair for asin of this operand is on the wrong side of a tie.
BL_FN bool asin_is_missed(f32 x) {
    static const u32 inputs[4] = {
        0x39e89768u, 0x3d07959cu, 0x3d09bf86u, 0x3d17817cu,
    };
    bool found = false;
    for (u32 i = 0; i < 4; ++i) found |= inputs[i] == (bits_of(x) & 0x7fffffffu);
    return found;
}

// Whether the pair for acos of this operand is on the wrong side of a tie.
BL_FN bool acos_is_missed(f32 x) {
    static const u32 inputs[9] = {
        0x328885a3u, 0x39826222u, 0x39827222u, 0x3a3b4910u, 0x3db6ec75u, 0x3e0b7255u, 0xb3ddde97u, 0xbd56bd25u, 0xbe6dff37u,
    };
    bool found = false;
    for (u32 i = 0; i < 9; ++i) found |= inputs[i] == (bits_of(x));
    return found;
}

// Whether the pair for atan of this operand is on the wrong side of a tie.
BL_FN bool atan_is_missed(f32 x) {
    static const u32 inputs[10] = {
        0x3d8d6b23u, 0x3e242361u, 0x3ee06db1u, 0x40357f1du, 0x40f91ad2u, 0x4309084eu, 0x43d8ed1au, 0x4a2367a3u, 0x4ae1e272u,
        0x4c700518u,
    };
    bool found = false;
    for (u32 i = 0; i < 10; ++i) found |= inputs[i] == (bits_of(x) & 0x7fffffffu);
    return found;
}

}  // namespace math
}  // namespace bl
