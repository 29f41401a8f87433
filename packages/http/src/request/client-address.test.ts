import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { measureCpuMs } from '../../test/cpu-time.ts'
import { findClientAddress, listNetworks, parseTrustedProxies } from './client-address.ts'

/**
 * Creates a request that arrives from an address. Node joins several headers of one name, so `forwardedFor` stands for
 * all `X-Forwarded-For` headers.
 */
const createRequest = (remoteAddress: string | undefined, forwardedFor?: string) =>
  ({
    socket: { remoteAddress },
    headers: forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor },
  }) as unknown as IncomingMessage

const PROXIES = parseTrustedProxies('10.0.0.0/8, 2001:db8:ffff::/48')
const NO_PROXIES = parseTrustedProxies('')

/** Finds the address of the client if `PROXIES` are trusted. By default the request arrives from one of them. */
const findAddress = (forwardedFor: string, remoteAddress = '10.0.0.1') =>
  findClientAddress(createRequest(remoteAddress, forwardedFor), PROXIES)

describe('without trusted proxies, findClientAddress returns', () => {
  test.for([
    { result: 'an IPv4 address as it is', remoteAddress: '192.0.2.1', address: '192.0.2.1' },
    {
      result: 'an IPv4-mapped IPv6 address as IPv4',
      remoteAddress: '::ffff:192.0.2.1',
      address: '192.0.2.1',
    },
    { result: 'an IPv6 address in full', remoteAddress: '2001:db8::1', address: '2001:db8:0:0:0:0:0:1' },
    {
      result: 'an IPv6 address without its zone',
      remoteAddress: 'fe80::1%eth0',
      address: 'fe80:0:0:0:0:0:0:1',
    },
    { result: '0.0.0.0 if the socket has no address', remoteAddress: undefined, address: '0.0.0.0' },
  ])('$result', ({ remoteAddress, address }) => {
    expect(findClientAddress(createRequest(remoteAddress, '203.0.113.9'), NO_PROXIES)).toBe(address)
  })
})

describe('findClientAddress returns the address of the socket', () => {
  test('if it is not a trusted proxy, even with X-Forwarded-For', () => {
    expect(findAddress('203.0.113.9', '192.0.2.1')).toBe('192.0.2.1')
  })

  test('if the trusted proxy sends no X-Forwarded-For, or an empty one', () => {
    expect(findClientAddress(createRequest('10.0.0.1'), PROXIES)).toBe('10.0.0.1')
    expect(findAddress('')).toBe('10.0.0.1')
  })

  test('if the trusted proxy sends only other forwarding headers', () => {
    const request = {
      socket: { remoteAddress: '10.0.0.1' },
      headers: { 'x-real-ip': '203.0.113.9', forwarded: 'for=203.0.113.9', 'true-client-ip': '203.0.113.9' },
    } as unknown as IncomingMessage
    expect(findClientAddress(request, PROXIES)).toBe('10.0.0.1')
  })
})

describe('behind a trusted proxy, findClientAddress returns', () => {
  test.for([
    { result: 'the only hop', forwardedFor: '203.0.113.9', address: '203.0.113.9' },
    {
      result: 'the right-most hop, even if hops to its left are forged',
      forwardedFor: '1.2.3.4, 203.0.113.9',
      address: '203.0.113.9',
    },
    {
      result: 'the right-most hop that is not a trusted proxy',
      forwardedFor: '1.2.3.4,203.0.113.9, 10.1.1.1,10.2.2.2',
      address: '203.0.113.9',
    },
    { result: 'the address without its port', forwardedFor: '203.0.113.9:54321', address: '203.0.113.9' },
    {
      result: 'the address without its brackets',
      forwardedFor: '[2001:db8::9]',
      address: '2001:db8:0:0:0:0:0:9',
    },
    {
      result: 'the address without its brackets and port',
      forwardedFor: '[2001:DB8::9]:443',
      address: '2001:db8:0:0:0:0:0:9',
    },
    { result: 'the address without its zone', forwardedFor: 'fe80::9%eth0', address: 'fe80:0:0:0:0:0:0:9' },
    {
      result: 'an IPv4-mapped IPv6 address as IPv4',
      forwardedFor: '::ffff:203.0.113.9',
      address: '203.0.113.9',
    },
    {
      result: 'an IPv4-mapped IPv6 address in hexadecimal as IPv4',
      forwardedFor: '::FFFF:cb00:7109',
      address: '203.0.113.9',
    },
    {
      result: 'the hop to the left of a trusted proxy with an IPv4-mapped address',
      forwardedFor: '203.0.113.9, ::ffff:10.1.1.1',
      address: '203.0.113.9',
    },
    {
      result: 'the hop to the left of a trusted proxy with an IPv6 address',
      forwardedFor: '203.0.113.9, 2001:db8:ffff:1::1',
      address: '203.0.113.9',
    },
    {
      result: 'the nearest trusted proxy if the next hop is garbage',
      forwardedFor: '203.0.113.9, unknown',
      address: '10.0.0.1',
    },
    {
      result: 'the nearest trusted proxy if the next hop is empty',
      forwardedFor: '203.0.113.9, ,10.2.2.2',
      address: '10.2.2.2',
    },
    {
      result: 'the nearest trusted proxy if the next hop is an obfuscated identifier',
      forwardedFor: '203.0.113.9,_hidden',
      address: '10.0.0.1',
    },
    {
      result: 'the nearest trusted proxy if the next hop has a number above 255',
      forwardedFor: '203.0.113.9,999.1.1.1',
      address: '10.0.0.1',
    },
    {
      result: 'the nearest trusted proxy if the next hop is a shortened IPv4 address',
      forwardedFor: '203.0.113.9,127.1',
      address: '10.0.0.1',
    },
    {
      result: 'the nearest trusted proxy if the next hop has an octal number',
      forwardedFor: '203.0.113.9,0300.0.2.1',
      address: '10.0.0.1',
    },
    {
      result: 'the left-most hop if all hops are trusted proxies',
      forwardedFor: '10.3.3.3, 10.2.2.2',
      address: '10.3.3.3',
    },
  ])('$result', ({ forwardedFor, address }) => {
    expect(findAddress(forwardedFor)).toBe(address)
  })

  test('the address among 2,000 hops within 0.2 s of CPU time', async () => {
    const ms = await measureCpuMs(() => {
      expect(findAddress(`${'1.2.3.4,'.repeat(2_000)}203.0.113.9`)).toBe('203.0.113.9')
      expect(findAddress('10.1.1.1,'.repeat(2_000).slice(0, -1))).toBe('10.1.1.1')
      // Only the last 64 hops count, so the search ends at one of the proxies.
      expect(findAddress(`203.0.113.9,${'10.1.1.1,'.repeat(2_000).slice(0, -1)}`)).toBe('10.1.1.1')
    })
    expect(ms).toBeLessThan(200)
  })
})

describe('parseTrustedProxies', () => {
  test('accepts IPv4 and IPv6 addresses and networks, and blanks around them', () => {
    const trusted = parseTrustedProxies(' 192.0.2.1 ,198.51.100.0/24,2001:db8::1, 2001:db8:1::/48,')
    for (const address of ['192.0.2.1', '198.51.100.255', '2001:db8::1', '2001:db8:1:2::3']) {
      expect(trusted.has(address)).toBe(true)
    }
    for (const address of ['192.0.2.2', '198.51.101.0', '2001:db8::2', '2001:db8:2::']) {
      expect(trusted.has(address)).toBe(false)
    }
  })

  test('trusts no address if the list is empty', () => {
    expect(NO_PROXIES.has('127.0.0.1')).toBe(false)
    expect(NO_PROXIES.has('::1')).toBe(false)
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
  ])('throws an error that names the invalid entry %s', (entry) => {
    expect(() => parseTrustedProxies(`10.0.0.0/8, ${entry}`)).toThrow(`not an address or network: ${entry}`)
  })
})

describe('listNetworks returns', () => {
  test('the IPv4 address itself, whatever its spelling', () => {
    const expected = [{ network: '1.2.3.4', allowance: 1 }]
    for (const address of ['1.2.3.4', '::ffff:1.2.3.4', '::ffff:102:304', '0:0:0:0:0:FFFF:0102:0304']) {
      expect(listNetworks(address)).toEqual(expected)
    }
    expect(listNetworks('1.2.3.5')).not.toEqual(expected)
  })

  test('the /64 of an IPv6 address and, with four times the allowance, its /48', () => {
    expect(listNetworks('2001:db8:1:2:3:4:5:6')).toEqual([
      { network: '2001:db8:1:2::/64', allowance: 1 },
      { network: '2001:db8:1::/48', allowance: 4 },
    ])
  })

  test('the same networks for every spelling of an IPv6 address', () => {
    const spellings = [
      '2001:db8::1',
      '2001:0DB8:0:0::0001',
      '2001:db8:0:0:0:0:0.0.0.1',
      '[2001:db8::1]:443',
      '2001:db8::1%0',
    ]
    const results = spellings.map((address) => JSON.stringify(listNetworks(address)))
    expect(new Set(results).size).toBe(1)
  })

  test('equal networks for two addresses only if they are in the same /64 or /48', () => {
    const listNames = (address: string) => listNetworks(address).map(({ network }) => network)
    expect(listNames('2001:db8::ffff:1')).toEqual(listNames('2001:db8::ffff:2'))
    expect(listNames('2001:db8:0:1::1')[0]).not.toBe(listNames('2001:db8:0:2::1')[0])
    expect(listNames('2001:db8:0:1::1')[1]).toBe(listNames('2001:db8:0:2::1')[1])
    expect(listNames('2001:db8:1::1')[1]).not.toBe(listNames('2001:db8:2::1')[1])
  })
})

test('listNetworks throws a TypeError for text that is not an address', () => {
  expect(() => listNetworks('unknown')).toThrow(TypeError)
})
