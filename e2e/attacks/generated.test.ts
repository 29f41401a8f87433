import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type System, startSystem } from '../in-process/start-system.ts'
import { openStoredCounts } from '../stored-counts.ts'
import { type AttackContext, attack } from './attack.ts'
import { RUN_PARAMETERS, TIMEOUT_MS } from './attack-runs.ts'
import { judgeForm, judgeJson, type Verdict } from './oracle.ts'
import { anyJsonDamage, anyRequestChange, createWrongCredentials } from './other-shapes.ts'
import { openTargets, type Target } from './target.ts'
import { anyText, anyValue } from './wrong-values.ts'

const resources = new AsyncDisposableStack()
let system: System
let context: AttackContext
beforeAll(async () => {
  system = resources.use(await startSystem({ limitsFactor: 1_000_000 }))
  const targets = resources.use(await openTargets(system))
  context = { system, targets, stored: resources.use(await openStoredCounts(system)) }
  process.stdout.write(
    `attacks: ${RUN_PARAMETERS.numRuns} runs a property, ATTACK_SEED=${RUN_PARAMETERS.seed}\n`,
  )
})
afterAll(() => resources.disposeAsync())

const listTargets = (...kinds: Target['kind'][]) =>
  context.targets.all.filter((target) => kinds.includes(target.kind))
/** Checks a property of each target with generated values. */
const checkEach = async <T>(
  targets: readonly Target[],
  values: fc.Arbitrary<T>,
  check: (target: Target, value: T) => Promise<void>,
) => {
  for (const target of targets)
    await fc.assert(
      fc.asyncProperty(values, (value) => check(target, value)),
      { ...RUN_PARAMETERS, endOnFailure: RUN_PARAMETERS.numRuns < 100 },
    )
}
const getExpectedStatuses = (verdict: Verdict, target: Target) =>
  verdict === 'accepted' ? target.acceptedStatuses : [verdict]

test(
  'a JSON body of any members and values gets the status that its schema says',
  async () => {
    const names = fc.constantFrom('client_name', 'type', 'email', 'referredBySlug', 'Email', 'scope', 'x', '')
    const body = fc.oneof(
      { weight: 4, arbitrary: fc.dictionary(fc.oneof(names, anyText), anyValue, { maxKeys: 4 }) },
      anyValue,
    )
    await checkEach(listTargets('json'), body, async (target, value) => {
      const validBody = JSON.parse(String((await target.createValidRequest()).body)) as object
      const mixed = typeof value === 'object' && !Array.isArray(value) ? { ...validBody, ...value } : value
      const text = JSON.stringify(mixed)
      const { status } = await attack(context, target, await target.withBody(text))
      expect(getExpectedStatuses(judgeJson(target, text), target), text.slice(0, 300)).toContain(status)
    })
  },
  TIMEOUT_MS,
)

test(
  'a body that is nearly JSON gets a safe response, and stores nothing if it is refused',
  async () => {
    await checkEach(listTargets('json'), anyJsonDamage, async (target, damage) => {
      const sent = await target.createValidRequest()
      const body = damage(String(sent.body))
      await attack(context, target, { ...sent, body })
    })
  },
  TIMEOUT_MS,
)

test(
  'a form of any fields gets the status that the standards say',
  async () => {
    const names = fc.constantFrom(
      'grant_type',
      'scope',
      'resource',
      'token',
      'token_type_hint',
      'client_id',
      'client_secret',
      'client_assertion',
      'client_assertion_type',
      'x',
    )
    const values = fc.oneof(
      anyText,
      fc.constantFrom('client_credentials', 'guides:read', 'guides:read contact:write', 'access_token', ''),
    )
    const storable = values.filter((text) => text.isWellFormed())
    const fields = fc.array(fc.tuple(names, storable), { maxLength: 6 })
    const choices = fc.tuple(fields, fc.boolean())
    await checkEach(listTargets('form'), choices, async (target, [randomFields, keepsValidFields]) => {
      const { body } = await target.createValidRequest()
      const validFields = [...new URLSearchParams(String(body))] as [string, string][]
      const allFields = keepsValidFields ? [...validFields, ...randomFields] : randomFields
      const facts = { clientId: context.targets.agent.client_id, resource: `${system.origin}/api` }
      const { status } = await attack(context, target, await target.withFields(allFields))
      const expectedStatuses = getExpectedStatuses(judgeForm(target, allFields, facts), target)
      expect(expectedStatuses, JSON.stringify(allFields).slice(0, 300)).toContain(status)
    })
  },
  TIMEOUT_MS,
)

test(
  'any method, path, header or query gets a safe response, and a refused request stores nothing',
  async () => {
    await checkEach(context.targets.all, anyRequestChange, async (target, change) => {
      await attack(context, target, change(await target.createValidRequest()))
    })
  },
  TIMEOUT_MS,
)

test(
  'no value of Authorization is accepted except valid credentials',
  async () => {
    const { agent } = context.targets
    await checkEach(
      context.targets.all.filter(({ operation }) => operation.access === 'client'),
      createWrongCredentials(agent),
      async (target, authorization) => {
        const sent = await target.createValidRequest()
        const { status } = await attack(context, target, {
          ...sent,
          headers: { ...sent.headers, authorization },
        })
        expect([400, 401, 431], authorization).toContain(status)
      },
    )
  },
  TIMEOUT_MS,
)
