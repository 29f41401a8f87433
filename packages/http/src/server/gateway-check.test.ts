import { expect, test } from 'vitest'
import { converse, head } from '../../test/raw-http.ts'
import { parseTrustedProxies } from '../request/client-address.ts'
import type { RequestHandler } from '../request/request-context.ts'
import { GATEWAY_CHECK_HOST, respondToGatewayCheck } from './run-app.ts'
import { serve } from './server.ts'

const handled: RequestHandler = (_request, response) => response.end('handled')

async function request(handler: RequestHandler, line: string, host: string, ...more: string[]) {
  await using server = await serve(handler, { port: 0, host: '127.0.0.1', drainSeconds: 0 })
  const { responses } = await converse(server.port, head(line, `Host: ${host}`, 'Connection: close', ...more))
  return responses[0]
}

test.for([
  [true, 204],
  [false, 503],
] as const)('tells a trusted proxy whether the instance serves: %s is %i', async ([serving, status]) => {
  const trustedProxies = parseTrustedProxies('127.0.0.1')
  const handler = respondToGatewayCheck(handled, { isServing: () => serving, trustedProxies })
  expect(await request(handler, 'GET / HTTP/1.1', GATEWAY_CHECK_HOST)).toMatchObject({ status })
})

test('tells any client of a listener without trusted proxies', async () => {
  const handler = respondToGatewayCheck(handled, { isServing: () => true })
  expect(await request(handler, 'GET / HTTP/1.1', GATEWAY_CHECK_HOST)).toMatchObject({ status: 204 })
})

test.for<{ title: string; proxies?: string; line?: string; host?: string; more?: string }>([
  { title: 'a request from an untrusted address', proxies: '192.0.2.1' },
  { title: 'a request when no proxy is trusted', proxies: '' },
  { title: 'a request that a proxy forwarded', more: 'X-Forwarded-For: 192.0.2.7' },
  { title: 'another host', host: 'plainpath.example' },
  { title: 'another path', line: 'GET /api/health HTTP/1.1' },
  { title: 'another method', line: 'POST / HTTP/1.1' },
])('passes to the handler $title', async ({ proxies, line, host, more }) => {
  const trustedProxies = parseTrustedProxies(proxies ?? '127.0.0.1')
  const handler = respondToGatewayCheck(handled, { isServing: () => true, trustedProxies })
  const response = await request(
    handler,
    line ?? 'GET / HTTP/1.1',
    host ?? GATEWAY_CHECK_HOST,
    ...(more === undefined ? [] : [more]),
  )
  expect(response).toMatchObject({ status: 200, body: 'handled' })
})
