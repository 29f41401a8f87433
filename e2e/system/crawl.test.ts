import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { startCollector } from '@plainpath/tracing/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CrawledService, describeCrawl } from '../crawl/crawl.contract.ts'
import { runStackCommand, type StackProcess } from './run-stack-command.ts'

const resources = new AsyncDisposableStack()
let stack: StackProcess
let collector: Awaited<ReturnType<typeof startCollector>>
beforeAll(async () => {
  collector = resources.use(await startCollector())
  const { url } = collector
  stack = resources.use(await runStackCommand({ AUTH_OTLP_URL: url, RESOURCE_OTLP_URL: url }))
}, 120_000)
afterAll(() => resources.disposeAsync(), 60_000)

const running = async (): Promise<CrawledService> => ({
  origin: stack.origin,
  [Symbol.asyncDispose]: async () => {},
})

describeCrawl('behind the gateway of `npm run stack`, with two processes of each app', running)

test('the commands of auth.md work in one shell', async () => {
  const markdown = await (await fetch(`${stack.origin}/auth.md`)).text()
  const blocks = [...markdown.matchAll(/^```sh\n([\s\S]*?)\n```$/gm)].map(([, block]) => block)
  expect(blocks.length).toBeGreaterThanOrEqual(5)
  const script = `set -eu\n${blocks.join('\n')}\necho ended with $?`
  const { stdout } = await promisify(execFile)('sh', ['-c', script], { timeout: 30_000 })
  expect(stdout).toMatch(/"client_id":"agt_/)
  expect(stdout).toMatch(/"guides":\[/)
  expect(stdout).toMatch(/ended with 0\n$/)
})

test('the configured collector receives the traces of both apps', async () => {
  const senders = () => [...new Set(collector.spans().map(({ service }) => service))].toSorted()
  await expect.poll(senders, { timeout: 20_000 }).toEqual(['plainpath-auth', 'plainpath-resource'])
})

test('Ctrl-C stops everything, in order', async () => {
  expect(await stack.interrupt()).toBe(0)
  expect((await stack.printed()).at(-1)).toBe('Stopping')
  await expect(fetch(stack.origin)).rejects.toThrow('fetch failed')
})
