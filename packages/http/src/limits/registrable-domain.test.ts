import { expect, test } from 'vitest'
import { findRegistrableDomain } from './registrable-domain.ts'

test.for<[string, string, string]>([
  ['example.org', 'example.org', 'a registered domain'],
  ['deep.agent.example.org', 'example.org', 'its hosts'],
  ['agent.example.co.uk', 'example.co.uk', 'a suffix of two labels'],
  ['one.github.io', 'one.github.io', 'a suffix under which a company lets the public register'],
  ['x.one.github.io', 'one.github.io', 'hosts there'],
  ['agent.xn--85x722f.xn--55qx5d.cn', 'xn--85x722f.xn--55qx5d.cn', 'a suffix in its ASCII form'],
  ['a-.example.org', 'example.org', 'a label that ends with a hyphen, which resolves all the same'],
  ['-a.example.org', 'example.org', 'a label that begins with one'],
  ['agent.example.org.', 'example.org', 'a dot at the end'],
  ['github.io', 'github.io', 'a suffix itself'],
  ['203.0.113.7', '203.0.113.7', 'an address'],
  ['localhost', 'localhost', 'a single label'],
])('%s belongs to %s (%s)', ([host, domain]) => {
  expect(findRegistrableDomain(host)).toBe(domain)
})
