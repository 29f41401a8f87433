import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { cpuTimeOf } from '../../test/cpu-time.ts'
import { addressNetworks, clientAddress, parseTrustedProxies } from './client-address.ts'

/** As Node gives it: several headers of the name arrive joined. */
const request = (remoteAddress: string | undefined, forwarded?: string) =>
  ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage

const PROXIES = parseTrustedProxies('10.0.0.0/8, 2001:db8:ffff::/48')
const NOBODY = parseTrustedProxies('')
const behind = (forwarded: string, peer = '10.0.0.1') => clientAddress(request(peer, forwarded), PROXIES)

describe('clientAddress returns the address of the socket', () => {
  test.for([
    { peer: '192.0.2.1', address: '192.0.2.1' },
    { peer: '::ffff:192.0.2.1', address: '192.0.2.1' },
    { peer: '2001:db8::1', address: '2001:db8:0:0:0:0:0:1' },
    { peer: 'fe80::1%eth0', address: 'fe80:0:0:0:0:0:0:1' },
    { peer: undefined, address: '0.0.0.0' },
  ])('$peer', ({ peer, address }) => {
    expect(clientAddress(request(peer, '203.0.113.9'), NOBODY)).toBe(address)
  })

  test('if it is not a trusted proxy, whatever headers it sends', () => {
    expect(behind('203.0.113.9', '192.0.2.1')).toBe('192.0.2.1')
  })

  test('if the proxy sends no X-Forwarded-For', () => {
    expect(clientAddress(request('10.0.0.1'), PROXIES)).toBe('10.0.0.1')
    expect(behind('')).toBe('10.0.0.1')
  })

  test('whatever other forwarding headers say', () => {
    const forged = {
      socket: { remoteAddress: '10.0.0.1' },
      headers: { 'x-real-ip': '203.0.113.9', forwarded: 'for=203.0.113.9', 'true-client-ip': '203.0.113.9' },
    } as unknown as IncomingMessage
    expect(clientAddress(forged, PROXIES)).toBe('10.0.0.1')
  })
})

describe('behind a trusted proxy, clientAddress returns', () => {
  test.for([
    { why: 'the hop the proxy added', forwarded: '203.0.113.9', address: '203.0.113.9' },
    {
      why: 'the right-most, whatever was forged before it',
      forwarded: '1.2.3.4, 203.0.113.9',
      address: '203.0.113.9',
    },
    {
      why: 'the one before further proxies',
      forwarded: '1.2.3.4,203.0.113.9, 10.1.1.1,10.2.2.2',
      address: '203.0.113.9',
    },
    { why: 'without its port', forwarded: '203.0.113.9:54321', address: '203.0.113.9' },
    { why: 'without brackets', forwarded: '[2001:db8::9]', address: '2001:db8:0:0:0:0:0:9' },
    { why: 'without brackets and port', forwarded: '[2001:DB8::9]:443', address: '2001:db8:0:0:0:0:0:9' },
    { why: 'without its zone', forwarded: 'fe80::9%eth0', address: 'fe80:0:0:0:0:0:0:9' },
    { why: 'IPv4 when mapped', forwarded: '::ffff:203.0.113.9', address: '203.0.113.9' },
    { why: 'IPv4 when mapped in hex', forwarded: '::FFFF:cb00:7109', address: '203.0.113.9' },
    {
      why: 'the client after a proxy written as a mapped address',
      forwarded: '203.0.113.9, ::ffff:10.1.1.1',
      address: '203.0.113.9',
    },
    {
      why: 'the client after an IPv6 proxy',
      forwarded: '203.0.113.9, 2001:db8:ffff:1::1',
      address: '203.0.113.9',
    },
    { why: 'the last proxy before garbage', forwarded: '203.0.113.9, unknown', address: '10.0.0.1' },
    { why: 'the last proxy before an empty hop', forwarded: '203.0.113.9, ,10.2.2.2', address: '10.2.2.2' },
    { why: 'the last proxy before an obfuscated hop', forwarded: '203.0.113.9,_hidden', address: '10.0.0.1' },
    {
      why: 'the last proxy before an address that is none',
      forwarded: '203.0.113.9,999.1.1.1',
      address: '10.0.0.1',
    },
    { why: 'the last proxy before a short form', forwarded: '203.0.113.9,127.1', address: '10.0.0.1' },
    { why: 'the last proxy before octal numbers', forwarded: '203.0.113.9,0300.0.2.1', address: '10.0.0.1' },
    { why: 'the left-most when all are proxies', forwarded: '10.3.3.3, 10.2.2.2', address: '10.3.3.3' },
  ])('$why', ({ forwarded, address }) => {
    expect(behind(forwarded)).toBe(address)
  })

  test('the address among two thousand entries without delay', async () => {
    const ms = await cpuTimeOf(() => {
      expect(behind(`${'1.2.3.4,'.repeat(2_000)}203.0.113.9`)).toBe('203.0.113.9')
      expect(behind('10.1.1.1,'.repeat(2_000).slice(0, -1))).toBe('10.1.1.1')
      expect(behind(`203.0.113.9,${'10.1.1.1,'.repeat(2_000).slice(0, -1)}`)).toBe('10.1.1.1')
    })
    expect(ms).toBeLessThan(200)
  })
})

describe('a list of trusted proxies', () => {
  test('takes addresses and networks of both families', () => {
    const trusted = parseTrustedProxies(' 192.0.2.1 ,198.51.100.0/24,2001:db8::1, 2001:db8:1::/48,')
    for (const address of ['192.0.2.1', '198.51.100.255', '2001:db8::1', '2001:db8:1:2::3']) {
      expect(trusted.has(address)).toBe(true)
    }
    for (const address of ['192.0.2.2', '198.51.101.0', '2001:db8::2', '2001:db8:2::']) {
      expect(trusted.has(address)).toBe(false)
    }
  })

  test('is empty by default', () => {
    expect(NOBODY.has('127.0.0.1')).toBe(false)
    expect(NOBODY.has('::1')).toBe(false)
  })

  test.for([
    'localhost',
    '10.0.0.0/33',
    '2001:db8::/129',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    '10.0.0.0/0x8',
    '10.0.0.0/8.5',
    '10.0.0',
    '10.0.0.0-10.0.0.9',
    '10.0.0.1:80',
    '[::1]',
    '*',
  ])('refuses the entry %s by name', (entry) => {
    expect(() => parseTrustedProxies(`10.0.0.0/8, ${entry}`)).toThrow(`not an address or network: ${entry}`)
  })
})

describe('addressNetworks returns', () => {
  test('one IPv4 address for all of its spellings', () => {
    const expected = [{ network: '1.2.3.4', allowance: 1 }]
    for (const address of ['1.2.3.4', '::ffff:1.2.3.4', '::ffff:102:304', '0:0:0:0:0:FFFF:0102:0304']) {
      expect(addressNetworks(address)).toEqual(expected)
    }
    expect(addressNetworks('1.2.3.5')).not.toEqual(expected)
  })

  test('the /64 and, with four times the allowance, the /48 of an IPv6 address', () => {
    expect(addressNetworks('2001:db8:1:2:3:4:5:6')).toEqual([
      { network: '2001:db8:1:2::/64', allowance: 1 },
      { network: '2001:db8:1::/48', allowance: 4 },
    ])
  })

  test('the same networks for all spellings of an IPv6 address', () => {
    const spellings = [
      '2001:db8::1',
      '2001:0DB8:0:0::0001',
      '2001:db8:0:0:0:0:0.0.0.1',
      '[2001:db8::1]:443',
      '2001:db8::1%0',
    ]
    const found = spellings.map((address) => JSON.stringify(addressNetworks(address)))
    expect(new Set(found).size).toBe(1)
  })

  test('one /64 for all of its addresses, and another for the next', () => {
    const networks = (address: string) => addressNetworks(address).map(({ network }) => network)
    expect(networks('2001:db8::ffff:1')).toEqual(networks('2001:db8::ffff:2'))
    expect(networks('2001:db8:0:1::1')[0]).not.toBe(networks('2001:db8:0:2::1')[0])
    expect(networks('2001:db8:0:1::1')[1]).toBe(networks('2001:db8:0:2::1')[1])
    expect(networks('2001:db8:1::1')[1]).not.toBe(networks('2001:db8:2::1')[1])
  })

  test('no networks for text that is not an address, but throws', () => {
    expect(() => addressNetworks('unknown')).toThrow(TypeError)
  })
})
