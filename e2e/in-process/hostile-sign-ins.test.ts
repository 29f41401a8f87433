import { type AgentDocuments, startAgentDocuments } from '@plainpath/auth/agent-documents'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HOSTILE_AUTHORIZATIONS } from '../hosts/hostile-authorizations.ts'
import { HOSTILE_SIGN_INS } from '../hosts/hostile-sign-ins.ts'
import { HOSTILE_TOKENS } from '../hosts/hostile-tokens.ts'
import { type HostileCase, openScene, type Scene } from '../hosts/scene.ts'
import { startSystemWithMail } from '../start-system-with-mail.ts'

/*
 * Attempts to get access that a person did not give. Each hostile step is refused and grants nothing. The same step without its
 * hostile part gets a token that works.
 */

const resources = new AsyncDisposableStack()
let scene: Scene
beforeAll(async () => {
  const documents: AgentDocuments = resources.use(await startAgentDocuments())
  const system = resources.use(await startSystemWithMail({ documents }))
  scene = resources.use(await openScene(system, documents))
})
afterAll(() => resources.disposeAsync())

/** Runs each case with its hostile part (`run` gets true), and then without it. */
function testCases(cases: readonly HostileCase[]): void {
  test.for(cases.map((each) => [each.description, each] as const))(
    '%s',
    async ([, { run, expectedOutcome }]) => {
      expect(await run(scene, true)).toMatchObject(expectedOutcome)
      // The number of grants can fall, because a refusal may revoke some.
      expect(await scene.countNewGrants()).toBeLessThanOrEqual(0)
      expect(await run(scene, false)).toEqual({ at: 'granted' })
    },
  )
}

describe('an authorization request is refused', () => {
  testCases(HOSTILE_AUTHORIZATIONS)
})
describe('access is not granted by', () => {
  testCases(HOSTILE_SIGN_INS)
})
describe('the token endpoint, the API or an MCP server refuses', () => {
  testCases(HOSTILE_TOKENS)
})

test('there are more than thirty hostile cases', () => {
  expect(HOSTILE_AUTHORIZATIONS.length + HOSTILE_SIGN_INS.length + HOSTILE_TOKENS.length).toBeGreaterThan(30)
})
