import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { serve } from '@plainpath/http'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import { findDebianPrograms } from '@plainpath/stack/debian-program'
import { startGateway } from '@plainpath/stack/start-gateway'
import { expect, test } from 'vitest'
import { createSender } from '../send.ts'

test('the gateway removes the trace headers of clients, and forwards their request id', async () => {
  await using resources = new AsyncDisposableStack()
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-gateway-'))
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  const app = resources.use(
    await serve((request, response) => response.end(JSON.stringify(request.headers)), {
      port: 0,
      host: '127.0.0.1',
      drainSeconds: 5,
    }),
  )
  const { caddy } = await findDebianPrograms(['caddy'], process.env['PATH'] ?? '')
  const [port = 0] = await reserveFreePorts(1)
  const apps = [`127.0.0.1:${app.port}`]
  resources.use(await startGateway({ program: caddy, port, auth: apps, resource: apps, folder }))
  using sender = createSender(`http://127.0.0.1:${port}`)
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  const headers = { traceparent, tracestate: 'somebody=1', baggage: 'user=1', 'x-request-id': 'known-to-all' }
  for (const target of ['/api/guides', '/oauth/token', '/']) {
    const { text } = await sender.send({ path: target, headers })
    const receivedHeaders = JSON.parse(text) as Record<string, string>
    expect(receivedHeaders['x-request-id']).toBe('known-to-all')
    expect(Object.keys(receivedHeaders).filter((name) => /^(trace|baggage)/.test(name))).toEqual([])
  }
})
