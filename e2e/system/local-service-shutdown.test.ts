import { once } from 'node:events'
import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import { createTemporaryFolder } from '@plainpath/stack/create-temporary-folder'
import { expect, test } from 'vitest'
import { startLocalService } from './start-local-service.ts'

test('the local service completes an in-flight request before it stops', async () => {
  await using resources = new AsyncDisposableStack()
  const { path: folder } = resources.use(await createTemporaryFolder('stop'))
  const { service, port } = await startLocalService(folder)
  resources.use(service)
  const body = JSON.stringify({ email: 'in.flight@example.org' })
  const joinRequest = request({
    host: '127.0.0.1',
    port,
    method: 'POST',
    path: '/api/waitlist',
    headers: {
      'content-type': 'application/json',
      'content-length': body.length,
      // The server sends 100 Continue once it has accepted the request, so the request is in flight until the body is sent.
      expect: '100-continue',
    },
  })
  const responsePromise = once(joinRequest, 'response')
  await once(joinRequest, 'continue')
  const stopPromise = service.stop('SIGTERM')
  const probeHealth = () =>
    fetch(`http://127.0.0.1:${port}/api/health`).then(
      ({ status }) => String(status),
      () => 'refused',
    )
  // The service no longer accepts connections, so it has begun to stop before the body arrives.
  await expect.poll(probeHealth).toBe('refused')
  joinRequest.end(body)
  const [response] = await responsePromise
  expect([response.statusCode, await json(response)]).toEqual([
    201,
    expect.objectContaining({ status: 'joined' }),
  ])
  await stopPromise
  expect(service.child.exitCode).toBe(0)
}, 180_000)
