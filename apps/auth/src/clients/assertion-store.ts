import type { AgentId, AgentKey } from '@plainpath/domain'

interface SpentAssertion {
  readonly clientId: AgentId
  readonly jti: string
  /** That signed it. */
  readonly key: AgentKey
  /** From then on it is refused for its age. */
  readonly expiresAt: Date
}

/** What makes an assertion good once. */
export interface AssertionStore {
  /** @returns false when it was spent already, or the key is not the client's any more. Atomic over all instances. */
  spend(assertion: SpentAssertion): Promise<boolean>
}
