import { expect, test } from 'vitest'
import { isLoopbackOrigin, Origin } from './service-urls.ts'

test.for([
  'https://plainpath.example',
  'https://plainpath.example:8443',
  'https://localhost',
  'https://192.0.2.1',
  'https://[2001:db8::1]:8443',
  'https://xn--bcher-kva.example',
  'http://localhost',
  'http://localhost:8080',
  'http://127.0.0.1:8080',
  'http://[::1]:8080',
])('Origin accepts %s', (text) => {
  expect(Origin.parse(text)).toBe(text)
})

test.for([
  // Not an absolute URL.
  '',
  'plainpath.example',
  'https://',
  'null',
  // With more than an origin.
  'https://plainpath.example/',
  'https://plainpath.example/api',
  'https://plainpath.example?x',
  'https://plainpath.example#x',
  'https://user@plainpath.example',
  'https://user:password@plainpath.example',
  // Not in the normal form: a default port, capital letters, a Unicode host or white space.
  'https://plainpath.example:443',
  'http://localhost:80',
  'https://Plainpath.example',
  'HTTPS://plainpath.example',
  'https://bücher.example',
  ' https://plainpath.example',
  'https://plainpath.example\n',
  // Without TLS on a host that is not a loopback host.
  'http://plainpath.example',
  'http://192.0.2.1',
  'http://0.0.0.0:8080',
  'http://localhost.example',
  'http://localhost.',
  // Other spellings of loopback addresses.
  'http://127.1:8080',
  'http://2130706433',
  // Neither https nor http.
  'ftp://localhost',
  'file:///',
  'javascript:alert(1)',
])('Origin rejects %j', (text) => {
  expect(Origin.safeParse(text).success).toBe(false)
})

test('isLoopbackOrigin accepts only the three loopback hosts', () => {
  for (const origin of ['http://localhost:8080', 'https://127.0.0.1', 'http://[::1]'])
    expect(isLoopbackOrigin(origin)).toBe(true)
  for (const origin of ['https://plainpath.example', 'http://127.0.0.1.example'])
    expect(isLoopbackOrigin(origin)).toBe(false)
})
