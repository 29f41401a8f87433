import { createHttpClient } from './http-client.ts'
import { type Ledger, newLedger } from './ledger.ts'
import { type OperationName, operation } from './operations.ts'
import { jsonObject } from './refusal.ts'

const AGENTS = 150
const AT_ONCE = 10

/** Creates agents with a token each, and addresses, so that every operation is possible from the first request. */
export async function prepareLedger(origin: string): Promise<Ledger> {
  using client = createHttpClient(origin)
  const list = jsonObject((await client.send({ method: 'GET', path: '/api/guides' })).text)['guides']
  const ledger = newLedger(
    origin,
    (list as { slug: string }[]).map(({ slug }) => slug),
  )
  for (const name of ['register', 'token', 'bound token', 'join'] as const) {
    let left = AGENTS
    const worker = async () => {
      for (; left > 0; left -= 1) await carryOut(name)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
  }
  return ledger

  async function carryOut(name: OperationName): Promise<void> {
    const attempt = operation(name).prepare(ledger)
    const wrong = attempt?.read(await client.send(attempt.sent))
    attempt?.release?.()
    if (wrong) throw new Error(`${name}: ${wrong}`)
  }
}
