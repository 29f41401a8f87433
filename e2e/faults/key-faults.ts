import { runAuthCommand } from '@plainpath/auth/cli'
import type { FaultCase } from './fault-case.ts'
import type { FaultyStack } from './faulty-stack.ts'

/** The security team at work while requests come. */
export const KEY_FAULTS: readonly FaultCase[] = [
  {
    name: 'the signing key is revoked',
    numbers: ['F-21'],
    parts: ['introspection'],
    refuses: [],
    byHand: true,
    async begin(system) {
      const [revoked] = await signingKids(system)
      await keys(system, 'revoke', revoked ?? '', '--reason', 'a drill')
    },
    end: async () => {},
    async finish(system) {
      const { findings } = await keys(system, 'verify')
      return Array.isArray(findings) ? findings.map(String) : ['keys verify says nothing']
    },
  },
]

async function signingKids(system: FaultyStack): Promise<string[]> {
  const { keys: all } = (await keys(system, 'list')) as { keys: { kid: string; state: string }[] }
  return all.filter(({ state }) => state === 'signing').map(({ kid }) => kid)
}

/** `auth keys …` as an operator runs it. */
async function keys({ stack }: FaultyStack, ...args: string[]): Promise<Record<string, unknown>> {
  const printed: string[] = []
  const errors: string[] = []
  const io = {
    print: (line: string) => void printed.push(line),
    printError: (line: string) => void errors.push(line),
  }
  const code = await runAuthCommand(['keys', ...args, '--json'], stack.env, io)
  if (code !== 0) throw new Error([...errors, ...printed].join('\n'))
  return JSON.parse(printed.join('\n')) as Record<string, unknown>
}
