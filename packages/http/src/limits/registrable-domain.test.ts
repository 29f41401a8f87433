import { expect, test } from 'vitest'
import { getRegistrableDomain } from './registrable-domain.ts'

test.for<[string, string, string]>([
  ['example.org', 'example.org', 'a registered domain'],
  ['deep.agent.example.org', 'example.org', 'a host of a registered domain'],
  ['agent.example.co.uk', 'example.co.uk', 'a suffix of two labels'],
  ['one.github.io', 'one.github.io', 'a domain under a private public suffix'],
  ['x.one.github.io', 'one.github.io', 'a host of a domain under a private public suffix'],
  ['agent.xn--85x722f.xn--55qx5d.cn', 'xn--85x722f.xn--55qx5d.cn', 'a suffix in its ASCII form'],
  ['a-.example.org', 'example.org', 'a label that ends with a hyphen, which resolves all the same'],
  ['-a.example.org', 'example.org', 'a label that begins with a hyphen'],
  ['agent.example.org.', 'example.org', 'a dot at the end'],
  ['github.io', 'github.io', 'a public suffix itself'],
  ['203.0.113.7', '203.0.113.7', 'an IP address'],
  ['localhost', 'localhost', 'a single label'],
])('%s belongs to %s (%s)', ([host, domain]) => {
  expect(getRegistrableDomain(host)).toBe(domain)
})
