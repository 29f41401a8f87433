import { random } from './random.ts'

/** An agent whose registration was answered 201. */
export interface KnownAgent {
  readonly id: string
  readonly secret: string
  readonly registeredAt: number
  /** Requests under way with its credentials. */
  busy: number
  /** Its deletion was sent; whether it happened is not known before `endedAt`. */
  endingFrom?: number
  /** Its deletion was answered 204. */
  endedAt?: number
}

/** A token that was answered 200. */
export interface KnownToken {
  readonly value: string
  readonly agent: KnownAgent
  /** When it was asked for. */
  readonly askedAt: number
  endingFrom?: number
  endedAt?: number
}

/** What the service acknowledged, as its clients know it. Times are those of `Answer`. */
export interface Ledger {
  readonly agents: KnownAgent[]
  readonly tokens: KnownToken[]
  /** Those of `tokens` that nobody began to end, nor their agents. */
  readonly liveTokens: KnownToken[]
  readonly endedTokens: KnownToken[]
  readonly addresses: { readonly email: string; readonly joinedAt: number }[]
  /** When the store of tokens lost everything: from before it began until after it was done. */
  readonly losses: { readonly from: number; readonly to: number }[]
  /** What health said of its checks, such as `database failed`. */
  readonly health: Set<string>
  /** Slugs of guides, all published. */
  readonly guides: readonly string[]
}

export const newLedger = (guides: readonly string[]): Ledger => ({
  agents: [],
  tokens: [],
  liveTokens: [],
  endedTokens: [],
  addresses: [],
  losses: [],
  health: new Set(),
  guides,
})

export const endedAt = (token: KnownToken) =>
  Math.min(token.endedAt ?? Number.POSITIVE_INFINITY, token.agent.endedAt ?? Number.POSITIVE_INFINITY)

/** True when somebody began to end the token before `at`. */
export const isEnding = (token: KnownToken, at: number) =>
  [token.endingFrom, token.agent.endingFrom].some((from) => from !== undefined && from <= at)

/** True when the store lost everything after the token was asked for and before `at`. */
export const mayBeLost = ({ losses }: Ledger, token: KnownToken, at: number) =>
  losses.some(({ from, to }) => token.askedAt <= to && from <= at)

export function endToken(ledger: Ledger, token: KnownToken): void {
  const index = ledger.liveTokens.indexOf(token)
  if (index >= 0) ledger.liveTokens.splice(index, 1)
}

/** The store of tokens loses everything while `lose` runs; whoever held a token gets a new one. */
export async function losingTokens(ledger: Ledger, lose: () => Promise<void>): Promise<void> {
  const loss = { from: performance.now(), to: Number.POSITIVE_INFINITY }
  ledger.losses.push(loss)
  await lose()
  loss.to = performance.now()
  const kept = ledger.liveTokens.filter((token) => token.askedAt > loss.to)
  ledger.liveTokens.splice(0, Number.POSITIVE_INFINITY, ...kept)
}

/** As `losingTokens`, from now until it is called. */
export function losingTokensUntil(ledger: Ledger): () => Promise<void> {
  const over = Promise.withResolvers<void>()
  const lost = losingTokens(ledger, () => over.promise)
  return () => {
    over.resolve()
    return lost
  }
}

export function anyOf<T>(list: readonly T[]): T | undefined {
  return list[Math.floor(random() * list.length)]
}
