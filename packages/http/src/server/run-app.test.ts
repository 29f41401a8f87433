import Koa from 'koa'
import { expect, test, vi } from 'vitest'
import { createLog } from '../observability/log.ts'
import { createReadiness } from '../readiness/readiness.ts'
import { parseTrustedProxies } from '../request/client-address.ts'
import { runApp } from './run-app.ts'

test('runApp collects the garbage of the startup before the listeners of the app open', async () => {
  const steps: string[] = []
  // Without `--expose-gc`, Node has no global `gc`.
  vi.stubGlobal('gc', () => void steps.push('collected'))
  const onLine = (line: string) => {
    const { msg } = JSON.parse(line) as { msg: string }
    steps.push(msg)
    // Ends the app.
    if (msg === 'listening') process.emit('SIGTERM')
  }
  await runApp({
    startupDependencies: {},
    async open() {
      steps.push('opened')
      return { operationsApp: new Koa(), readiness: createReadiness({}), async [Symbol.asyncDispose]() {} }
    },
    isTransient: () => false,
    operations: { port: 0, host: '127.0.0.1' },
    listeners: () => ({}),
    trustedProxies: parseTrustedProxies(''),
    drainDelaySeconds: 0,
    drainSeconds: 1,
    log: createLog({ service: 'test', write: onLine }),
  })
  vi.unstubAllGlobals()
  expect(steps).toEqual(['opened', 'collected', 'listening', 'stopping'])
})
