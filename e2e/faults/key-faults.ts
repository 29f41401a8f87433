import { runAuth } from '@plainpath/auth/run-auth'
import { waitUntil } from '@plainpath/stack/managed-process'
import type { FaultCase } from './fault-case.ts'
import type { FaultyStack } from './faulty-stack.ts'

const ROTATED_MS = 60_000

interface Ring {
  readonly keys: readonly { readonly kid: string; readonly algorithm: string; readonly state: string }[]
  readonly instances: readonly { readonly host: string; readonly signing_kid?: string }[]
}

/** Key operations under load. */
export const KEY_FAULTS: readonly FaultCase[] = [
  rotation(),
  {
    name: 'the signing key is revoked',
    numbers: ['F-21'],
    parts: ['introspection'],
    refuses: [],
    isManual: true,
    async begin(system) {
      const { kid } = findSigningKey(await readKeyRing(system))
      await keys(system, 'revoke', kid, '--reason', 'a drill')
    },
    end: async () => {},
    finish: findings,
  },
]

/** A complete planned rotation to the other algorithm, during which no request is refused. */
function rotation(): FaultCase {
  let old: Ring['keys'][number]
  return {
    name: 'the signing key is rotated, to the other algorithm',
    numbers: ['F-20'],
    parts: [],
    refuses: [],
    isManual: true,
    /** A process that was just killed may still be counted. */
    async prepare(system) {
      const isCounted = async () => (await readKeyRing(system)).instances.length === system.stack.auth.length
      if (!(await waitUntil(isCounted, ROTATED_MS)))
        throw new Error('other instances sign than those there are')
    },
    async begin(system) {
      old = findSigningKey(await readKeyRing(system))
      await keys(system, 'rotate', '--now', '--algorithm', old.algorithm === 'ES256' ? 'EdDSA' : 'ES256')
      const isRetired = async () => {
        await system.admin.server.query('select pg_sleep(0.3)')
        await keys(system, 'rotate')
        return (await readKeyRing(system)).keys.some(
          ({ kid, state }) => kid === old.kid && state === 'retired',
        )
      }
      if (!(await waitUntil(isRetired, ROTATED_MS))) throw new Error('the rotation does not end')
    },
    end: async () => {},
    async finish(system) {
      const { instances, ...now } = await readKeyRing(system)
      const { kid, algorithm } = findSigningKey(now)
      const behind = instances.filter((each) => each.signing_kid !== kid)
      return [
        ...(algorithm === old.algorithm ? ['the algorithm is the old one'] : []),
        ...(instances.length === system.stack.auth.length ? [] : [`${instances.length} instances sign`]),
        ...behind.map(({ host }) => `${host} signs with another key`),
        ...(await findings(system)),
      ]
    },
  }
}

function findSigningKey({ keys: all }: Pick<Ring, 'keys'>): Ring['keys'][number] {
  const found = all.find(({ state }) => state === 'signing')
  if (!found) throw new Error('no key signs')
  return found
}

const readKeyRing = async (system: FaultyStack) => (await keys(system, 'list')) as unknown as Ring

async function findings(system: FaultyStack): Promise<string[]> {
  const { findings: found } = await keys(system, 'verify')
  return Array.isArray(found) ? found.map(String) : ['keys verify says nothing']
}

/** `auth keys …` as an operator runs it. */
async function keys({ stack }: FaultyStack, ...args: string[]): Promise<Record<string, unknown>> {
  const { code, printed, errors } = await runAuth(['keys', ...args, '--json'], stack.env)
  if (code !== 0) throw new Error(`${errors}\n${printed}`)
  return JSON.parse(printed) as Record<string, unknown>
}
