import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type System, startSystem } from '../in-process/start-system.ts'
import { openStoredCounts } from '../stored-counts.ts'
import { attack, type Battlefield } from './attack.ts'
import { RUN, TIMEOUT_MS } from './attack-runs.ts'
import { formVerdict, jsonVerdict } from './oracle.ts'
import { otherShape, rawJson, sideways } from './other-shapes.ts'
import { openTargets, type Target } from './target.ts'
import { anyText, anyValue } from './wrong-values.ts'

const resources = new AsyncDisposableStack()
let system: System
let field: Battlefield
beforeAll(async () => {
  system = resources.use(await startSystem({ limitsFactor: 1_000_000 }))
  const targets = resources.use(await openTargets(system))
  field = { system, targets, stored: resources.use(await openStoredCounts(system)) }
  process.stdout.write(`attacks: ${RUN.numRuns} runs a property, ATTACK_SEED=${RUN.seed}\n`)
})
afterAll(() => resources.disposeAsync())

const byKind = (...kinds: Target['kind'][]) =>
  field.targets.all.filter((target) => kinds.includes(target.kind))
const each = async <T>(
  targets: readonly Target[],
  given: fc.Arbitrary<T>,
  hold: (target: Target, value: T) => Promise<void>,
) => {
  for (const target of targets)
    await fc.assert(
      fc.asyncProperty(given, (value) => hold(target, value)),
      { ...RUN, endOnFailure: RUN.numRuns < 100 },
    )
}
const mustBe = (verdict: ReturnType<typeof jsonVerdict>, target: Target) =>
  verdict === 'accepted' ? target.accepted : [verdict]

test(
  'a JSON body of any members and values is answered as its schema says',
  async () => {
    const names = fc.constantFrom('client_name', 'type', 'email', 'referredBySlug', 'Email', 'scope', 'x', '')
    const body = fc.oneof(
      { weight: 4, arbitrary: fc.dictionary(fc.oneof(names, anyText), anyValue, { maxKeys: 4 }) },
      anyValue,
    )
    await each(byKind('json'), body, async (target, value) => {
      const good = JSON.parse(String((await target.valid()).body)) as object
      const mixed = typeof value === 'object' && !Array.isArray(value) ? { ...good, ...value } : value
      const text = JSON.stringify(mixed)
      const { status } = await attack(field, target, await target.withBody(text))
      expect(mustBe(jsonVerdict(target, text), target), text.slice(0, 300)).toContain(status)
    })
  },
  TIMEOUT_MS,
)

test(
  'a body that is nearly JSON gets a safe response, and is mostly refused',
  async () => {
    await each(byKind('json'), rawJson, async (target, damage) => {
      const sent = await target.valid()
      const body = damage(String(sent.body))
      await attack(field, target, { ...sent, body })
    })
  },
  TIMEOUT_MS,
)

test(
  'a form of any fields is answered as the standards say',
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
    await each(byKind('form'), fc.tuple(fields, fc.boolean()), async (target, [more, withGood]) => {
      const good = [...new URLSearchParams(String((await target.valid()).body))] as [string, string][]
      const all = withGood ? [...good, ...more] : more
      const known = { clientId: field.targets.agent.client_id, base: `${system.origin}/api` }
      const { status } = await attack(field, target, await target.withFields(all))
      expect(mustBe(formVerdict(target, all, known), target), JSON.stringify(all).slice(0, 300)).toContain(
        status,
      )
    })
  },
  TIMEOUT_MS,
)

test(
  'any method, path, header or query gets a safe response, and a refused request stores nothing',
  async () => {
    await each(field.targets.all, otherShape, async (target, change) => {
      await attack(field, target, change(await target.valid()))
    })
  },
  TIMEOUT_MS,
)

test(
  'no value of Authorization is accepted except valid credentials',
  async () => {
    const { agent } = field.targets
    await each(
      field.targets.all.filter(({ operation }) => operation.access === 'client'),
      sideways(agent),
      async (target, authorization) => {
        const sent = await target.valid()
        const { status } = await attack(field, target, {
          ...sent,
          headers: { ...sent.headers, authorization },
        })
        expect([400, 401, 431], authorization).toContain(status)
      },
    )
  },
  TIMEOUT_MS,
)
