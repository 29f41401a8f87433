import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { GATEWAY_CHECK_HOST } from '@plainpath/http'
import { expect, test } from 'vitest'
import { SHIPPED, startShippedGateway } from './shipped-gateway.ts'

test('the gateway forwards no client request with the host of its own health check', async () => {
  await using resources = new AsyncDisposableStack()
  const hosts = { checks: new Set<string>(), forwarded: [] as string[] }
  const instance = createServer(({ headers: { host = '', ...headers } }, response) => {
    // The gateway adds this header to client requests, and not to its health checks.
    if (headers['x-forwarded-for'] === undefined) hosts.checks.add(host)
    else hosts.forwarded.push(host)
    response.writeHead(204, { connection: 'close' }).end()
  }).listen(0, '127.0.0.1')
  resources.defer(async () => void instance.close())
  await once(instance, 'listening')
  const addresses = [`127.0.0.1:${(instance.address() as AddressInfo).port}`]
  const apps = { auth: addresses, resource: addresses }
  const gateway = resources.use(await startShippedGateway(SHIPPED.compose, apps))
  for (const path of ['/', '/api/health', '/oauth/token'])
    for (const host of [GATEWAY_CHECK_HOST, 'plainpath.example'])
      expect((await gateway.plain.send({ path, headers: { host } })).status).toBe(204)
  // The Caddyfile replaces the host of the health check in a client request with `refused.invalid`.
  const bothHosts = ['refused.invalid', 'plainpath.example']
  expect(hosts).toEqual({
    checks: new Set([GATEWAY_CHECK_HOST]),
    forwarded: [...bothHosts, ...bothHosts, ...bothHosts],
  })
})
