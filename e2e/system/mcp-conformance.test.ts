import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { startMcpFixtureServer } from '@plainpath/resource/mcp-fixture-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startSystem } from '../in-process/start-system.ts'

/** Scenarios of the official conformance runner that need no tools of their own. */
const WITHOUT_FIXTURES = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']

/**
 * Scenarios that need tools of their own. The runner's other scenarios test features that this server does not have:
 * resources, prompts, completion, logging, and requests to the client, for which a stream must stay open.
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

/** Runs a scenario. Returns the runner's report. @throws {Error} if a check fails */
async function runScenario(url: string, scenario: string): Promise<string> {
  const runner = require.resolve('@modelcontextprotocol/conformance/dist/index.js')
  const args = [runner, 'server', '--url', url, '--scenario', scenario]
  return (await promisify(execFile)(process.execPath, args, { timeout: 60_000 })).stdout
}

/** Matches the summary of a report in which all checks passed: both numbers are equal. */
const PASSED = /^Passed: (\d+)\/\1, 0 failed, 0 warnings$/m

const resources = new AsyncDisposableStack()
afterAll(() => resources.disposeAsync())

describe('the MCP server passes the conformance scenario', () => {
  let url: string
  beforeAll(async () => {
    url = `${resources.use(await startSystem()).origin}/api/mcp`
  })
  test.for(WITHOUT_FIXTURES)('%s', async (scenario) => {
    expect(await runScenario(url, scenario)).toMatch(PASSED)
  })
})

describe('the same route with tools for tests passes the conformance scenario', () => {
  let url: string
  beforeAll(async () => {
    ;({ url } = resources.use(await startMcpFixtureServer()))
  })
  test.for(WITH_FIXTURES)('%s', async (scenario) => {
    expect(await runScenario(url, scenario)).toMatch(PASSED)
  })
})
