import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { startMcpFixtureServer } from '@plainpath/resource/mcp-fixture-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startSystem } from '../in-process/start-system.ts'

/** Scenarios of the official conformance runner that any server must pass. */
const WITHOUT_FIXTURES = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']

/**
 * Scenarios that call tools of their own. The others of the runner are about what this server does not offer: resources, prompts, completion,
 * logging, and requests to the client, which need a stream that stays open.
 */
const WITH_FIXTURES = [
  'tools-list',
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-error',
  'tools-call-with-progress',
  'json-schema-2020-12',
]

const require = createRequire(import.meta.url)

/** @returns the report of the runner; @throws with it when a check fails */
async function runScenario(url: string, scenario: string): Promise<string> {
  const runner = require.resolve('@modelcontextprotocol/conformance/dist/index.js')
  const args = [runner, 'server', '--url', url, '--scenario', scenario]
  return (await promisify(execFile)(process.execPath, args, { timeout: 60_000 })).stdout
}

const PASSED = /^Passed: (\d+)\/\1, 0 failed, 0 warnings$/m

const resources = new AsyncDisposableStack()
afterAll(() => resources.disposeAsync())

describe('the conformance runner of MCP accepts the server', () => {
  let url: string
  beforeAll(async () => {
    url = `${resources.use(await startSystem()).origin}/api/mcp`
  })
  test.for(WITHOUT_FIXTURES)('%s', async (scenario) => {
    expect(await runScenario(url, scenario)).toMatch(PASSED)
  })
})

describe('the conformance runner of MCP accepts the same route with tools for tests', () => {
  let url: string
  beforeAll(async () => {
    ;({ url } = resources.use(await startMcpFixtureServer()))
  })
  test.for(WITH_FIXTURES)('%s', async (scenario) => {
    expect(await runScenario(url, scenario)).toMatch(PASSED)
  })
})
