import { runAuth } from '@plainpath/auth/run-auth'
import { waitUntil } from '@plainpath/stack/managed-process'
import type { FaultCase } from './fault-case.ts'
import type { FaultyStack } from './faulty-stack.ts'

const ROTATION_TIMEOUT_MS = 60_000

/** The output of `auth keys list --json`. */
interface KeyRing {
  readonly keys: readonly { readonly kid: string; readonly algorithm: string; readonly state: string }[]
  /** The processes of auth that reported recently. `signing_kid` is absent if a process signs with no key. */
  readonly instances: readonly { readonly host: string; readonly signing_kid?: string }[]
}

/** A rotation and a revocation of the signing key, under load. */
export const KEY_FAULTS: readonly FaultCase[] = [
  createRotationFault(),
  {
    name: 'the signing key is revoked',
    numbers: ['F-21'],
    components: ['introspection'],
    refusedOperations: [],
    isManual: true,
    async begin(system) {
      const { kid } = findSigningKey(await readKeyRing(system))
      await runKeysCommand(system, 'revoke', kid, '--reason', 'a drill')
    },
    end: async () => {},
    finish: listFindings,
  },
]

/** Creates a fault that completes a planned rotation to the other algorithm. No request may be refused. */
function createRotationFault(): FaultCase {
  let oldKey: KeyRing['keys'][number]
  return {
    name: 'the signing key is rotated, to the other algorithm',
    numbers: ['F-20'],
    components: [],
    refusedOperations: [],
    isManual: true,
    /** Waits until the ring no longer lists processes that an earlier fault killed. */
    async prepare(system) {
      const isCurrent = async () => {
        const { instances } = await readKeyRing(system)
        return instances.length === system.stack.auth.length
      }
      if (!(await waitUntil(isCurrent, ROTATION_TIMEOUT_MS)))
        throw new Error('the key ring does not list exactly the running instances')
    },
    async begin(system) {
      oldKey = findSigningKey(await readKeyRing(system))
      await runKeysCommand(
        system,
        'rotate',
        '--now',
        '--algorithm',
        oldKey.algorithm === 'ES256' ? 'EdDSA' : 'ES256',
      )
      // `keys rotate` performs the next step only when that step is due, so it is repeated.
      const rotateAndCheckRetired = async () => {
        await system.admin.server.query('select pg_sleep(0.3)')
        await runKeysCommand(system, 'rotate')
        return (await readKeyRing(system)).keys.some(
          ({ kid, state }) => kid === oldKey.kid && state === 'retired',
        )
      }
      if (!(await waitUntil(rotateAndCheckRetired, ROTATION_TIMEOUT_MS)))
        throw new Error('the old key was not retired in time')
    },
    end: async () => {},
    async finish(system) {
      const ring = await readKeyRing(system)
      const { instances } = ring
      const { kid, algorithm } = findSigningKey(ring)
      const outdatedInstances = instances.filter(({ signing_kid: signingKid }) => signingKid !== kid)
      return [
        ...(algorithm === oldKey.algorithm ? ['the algorithm is the old one'] : []),
        ...(instances.length === system.stack.auth.length ? [] : [`${instances.length} instances sign`]),
        ...outdatedInstances.map(({ host }) => `${host} signs with another key`),
        ...(await listFindings(system)),
      ]
    },
  }
}

function findSigningKey({ keys }: KeyRing): KeyRing['keys'][number] {
  const signingKey = keys.find(({ state }) => state === 'signing')
  if (!signingKey) throw new Error('no key signs')
  return signingKey
}

const readKeyRing = async (system: FaultyStack) =>
  (await runKeysCommand(system, 'list')) as unknown as KeyRing

/** Lists the inconsistencies that `auth keys verify` finds. */
async function listFindings(system: FaultyStack): Promise<string[]> {
  const { findings } = await runKeysCommand(system, 'verify')
  return Array.isArray(findings) ? findings.map(String) : ['keys verify printed no findings']
}

/** Runs `auth keys … --json` in this process, with the settings of the stack, and parses its output. */
async function runKeysCommand({ stack }: FaultyStack, ...args: string[]): Promise<Record<string, unknown>> {
  const { code, printed, errors } = await runAuth(['keys', ...args, '--json'], stack.env)
  if (code !== 0) throw new Error(`${errors}\n${printed}`)
  return JSON.parse(printed) as Record<string, unknown>
}
