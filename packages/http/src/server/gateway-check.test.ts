import { expect, test } from 'vitest'
import { converse, head } from '../../test/raw-http.ts'
import { answerGatewayCheck, GATEWAY_CHECK_HOST } from './run-app.ts'
import { serve } from './server.ts'

test('a gateway hears whether requests are taken, without a handler; every other request reaches it', async () => {
  let taking = true
  const handler = answerGatewayCheck(
    (_request, response) => response.end('handled'),
    () => taking,
  )
  await using server = await serve(handler, { port: 0, host: '127.0.0.1', drainSeconds: 0 })
  const ask = async (line: string, host: string) => {
    const { answers } = await converse(server.port, head(line, `Host: ${host}`, 'Connection: close'))
    return answers[0]
  }
  expect(await ask('GET / HTTP/1.1', GATEWAY_CHECK_HOST)).toMatchObject({ status: 204 })
  taking = false
  expect(await ask('GET / HTTP/1.1', GATEWAY_CHECK_HOST)).toMatchObject({ status: 503 })
  for (const [line, host] of [
    ['GET / HTTP/1.1', 'plainpath.example'],
    ['GET /api/health HTTP/1.1', GATEWAY_CHECK_HOST],
    ['POST / HTTP/1.1', GATEWAY_CHECK_HOST],
  ] as const)
    expect(await ask(line, host)).toMatchObject({ status: 200, body: 'handled' })
})
