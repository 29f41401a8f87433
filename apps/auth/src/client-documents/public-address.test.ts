import { BlockList, isIP } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isLoopbackAddress, isPublicAddress } from './public-address.ts'

/** The special-purpose ranges of IANA and multicast, listed here independently of the library. */
const SPECIAL_IPV4 = [
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24',
  '192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
]
  .join(' ')
  .split(' ')
  .map((network) => ({ address: network.split('/')[0]!, bits: Number(network.split('/')[1]) }))
const specialRanges = new BlockList()
for (const { address, bits } of SPECIAL_IPV4) specialRanges.addSubnet(address, bits)

const parseIpv4 = (address: string) => Buffer.from(address.split('.').map(Number)).readUInt32BE()
const formatIpv4 = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.')
const toHexGroups = (address: string) =>
  parseIpv4(address).toString(16).padStart(8, '0').replace(/^.{4}/, '$&:')

/** Generates any address, and more often one in a special range or next to one. */
const ipv4 = fc.oneof(
  fc.nat(0xffff_ffff).map(formatIpv4),
  fc
    .tuple(fc.constantFrom(...SPECIAL_IPV4), fc.nat(0xffff_ffff), fc.constantFrom(-1, 0, 1))
    .map(([{ address, bits }, offset, side]) => {
      const size = 2 ** (32 - bits)
      const start = parseIpv4(address)
      const inside = start + (offset % size)
      const outside = side < 0 ? start - 1 : start + size
      const value = side === 0 ? inside : outside
      return formatIpv4(Math.min(Math.max(value, 0), 0xffff_ffff))
    }),
)
const ipv6Groups = fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 })

describe('IPv4:', () => {
  test('isPublicAddress accepts an address if and only if no special-purpose range contains it', () => {
    fc.assert(
      fc.property(ipv4, (address) => {
        expect(isPublicAddress(address)).toBe(!specialRanges.check(address))
      }),
      { numRuns: 2_000 },
    )
  })

  test.for([
    ['8.8.8.8', true],
    ['93.184.215.14', true],
    ['172.32.0.1', true],
    ['100.128.0.1', true],
    ['0.0.0.0', false],
    ['10.1.2.3', false],
    ['100.64.0.1', false],
    ['127.0.0.1', false],
    ['127.255.255.254', false],
    ['169.254.169.254', false],
    ['172.31.255.255', false],
    ['192.168.0.1', false],
    ['224.0.0.1', false],
    ['255.255.255.255', false],
    // Other spellings of addresses, which some resolvers accept, and text that is not an address.
    ['8.8.8', false],
    ['134744072', false],
    ['010.8.8.8', false],
    ['0x8.8.8.8', false],
    ['8.8.8.8:443', false],
    [' 8.8.8.8', false],
    ['8.8.8.8.', false],
    ['', false],
    ['agent.example.org', false],
  ] as const)('isPublicAddress(%j) is %s', ([address, isPublic]) =>
    expect(isPublicAddress(address)).toBe(isPublic),
  )
})

describe('IPv6:', () => {
  test.for([
    ['2606:2800:21f:cb07:6820:80da:af6b:8b2c', true],
    ['2606:2800:021F:CB07:6820:80DA:AF6B:8B2C', true],
    ['2a00::1', true],
    ['::', false],
    ['::1', false],
    ['0:0:0:0:0:0:0:1', false],
    ['::ffff:127.0.0.1', false],
    ['::ffff:8.8.8.8', false],
    ['::8.8.8.8', false],
    ['::ffff:0:8.8.8.8', false],
    ['64:ff9b::7f00:1', false],
    ['64:ff9b::8.8.8.8', false],
    ['64:ff9b:1::a00:1', false],
    ['100::1', false],
    ['2001::1', false],
    ['2001:db8::1', false],
    ['2002:7f00:1::1', false],
    ['2002:808:808::1', false],
    ['3fff::1', false],
    ['5f00::1', false],
    ['4000::1', false],
    ['fc00::1', false],
    ['fd00:ec2::254', false],
    ['fe80::1', false],
    ['fe80::1%lo', false],
    ['2606:2800::1%lo', false],
    ['fec0::1', false],
    ['ff02::1', false],
    ['[2606:2800::1]', false],
  ] as const)('isPublicAddress(%j) is %s', ([address, isPublic]) =>
    expect(isPublicAddress(address)).toBe(isPublic),
  )

  test('isPublicAddress refuses an address that embeds an IPv4 address', () => {
    // IPv4-mapped, IPv4-compatible, IPv4-translated, NAT64, local NAT64, 6to4 and Teredo addresses.
    const forms = [
      (v4: string) => `::ffff:${v4}`,
      (v4: string) => `::${v4}`,
      (v4: string) => `::ffff:0:${v4}`,
      (v4: string) => `64:ff9b::${v4}`,
      (v4: string) => `64:ff9b:1:2:3:4:${v4}`,
      (v4: string) => `2002:${toHexGroups(v4)}::1`,
      (v4: string) => `2001:0:${toHexGroups(v4)}::1`,
    ]
    fc.assert(
      fc.property(ipv4, fc.constantFrom(...forms), (v4, form) => {
        expect(isPublicAddress(form(v4))).toBe(false)
      }),
    )
  })

  test('isPublicAddress refuses an address outside 2000::/3', () => {
    fc.assert(
      fc.property(ipv6Groups, (groups) => {
        const address = groups.map((group) => group.toString(16)).join(':')
        // An address in 2000::/3 begins with the bits 001.
        if (groups[0]! >> 13 !== 1) expect(isPublicAddress(address)).toBe(false)
      }),
    )
  })
})

test('isPublicAddress and isLoopbackAddress refuse text that is not an address', () => {
  const digits = fc.string({ unit: fc.constantFrom(...'0123456789abcdefx.:%/[] ') })
  fc.assert(
    fc.property(fc.oneof(fc.string(), digits), (text) => {
      if (isIP(text) === 0) expect([isLoopbackAddress(text), isPublicAddress(text)]).toEqual([false, false])
    }),
    { numRuns: 2_000 },
  )
})

test('isLoopbackAddress accepts loopback addresses only', () => {
  expect(['127.0.0.1', '127.1.2.3', '::1'].map(isLoopbackAddress)).toEqual([true, true, true])
  expect(['128.0.0.1', '10.0.0.1', '::ffff:127.0.0.1', '::2', '0.0.0.0', ''].some(isLoopbackAddress)).toBe(
    false,
  )
})
