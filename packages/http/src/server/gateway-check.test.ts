import { expect, test } from 'vitest'
import { converse, formatHead } from '../../test/raw-http.ts'
import { parseTrustedProxies } from '../request/client-address.ts'
import type { RequestHandler } from '../request/request-context.ts'
import { GATEWAY_CHECK_HOST, respondToGatewayCheck } from './run-app.ts'
import { serve } from './server.ts'

/** The wrapped handler. Its response shows that a request was not treated as a gateway check. */
const respondHandled: RequestHandler = (_request, response) => response.end('handled')

async function sendRequest(handler: RequestHandler, line: string, host: string, ...headers: string[]) {
  await using server = await serve(handler, { port: 0, host: '127.0.0.1', drainSeconds: 0 })
  const bytes = formatHead(line, `Host: ${host}`, 'Connection: close', ...headers)
  const { responses } = await converse(server.port, bytes)
  return responses[0]
}

test.for([
  [true, 204],
  [false, 503],
] as const)('tells a trusted proxy whether the instance serves: %s with %i', async ([isServing, status]) => {
  const trustedProxies = parseTrustedProxies('127.0.0.1')
  const handler = respondToGatewayCheck(respondHandled, { isServing: () => isServing, trustedProxies })
  expect(await sendRequest(handler, 'GET / HTTP/1.1', GATEWAY_CHECK_HOST)).toMatchObject({ status })
})

test('tells any client that the instance serves, if no trusted proxies are given', async () => {
  const handler = respondToGatewayCheck(respondHandled, { isServing: () => true })
  expect(await sendRequest(handler, 'GET / HTTP/1.1', GATEWAY_CHECK_HOST)).toMatchObject({ status: 204 })
})

test.for<{ title: string; proxies?: string; line?: string; host?: string; header?: string }>([
  { title: 'a request from an untrusted address', proxies: '192.0.2.1' },
  { title: 'a request when no proxy is trusted', proxies: '' },
  { title: 'a request that a proxy forwarded', header: 'X-Forwarded-For: 192.0.2.7' },
  { title: 'another host', host: 'plainpath.example' },
  { title: 'another path', line: 'GET /api/health HTTP/1.1' },
  { title: 'another method', line: 'POST / HTTP/1.1' },
])('passes $title to the handler', async ({ proxies, line, host, header }) => {
  const trustedProxies = parseTrustedProxies(proxies ?? '127.0.0.1')
  const handler = respondToGatewayCheck(respondHandled, { isServing: () => true, trustedProxies })
  const response = await sendRequest(
    handler,
    line ?? 'GET / HTTP/1.1',
    host ?? GATEWAY_CHECK_HOST,
    ...(header === undefined ? [] : [header]),
  )
  expect(response).toMatchObject({ status: 200, body: 'handled' })
})
