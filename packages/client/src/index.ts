export type { AgentKeys } from './agent-key.ts'
export type {
  Answer,
  BegunVerification,
  Facts,
  FoundGuide,
  Guide,
  Message,
  MessageState,
  ReceivedMessage,
  Registration,
} from './api-types.ts'
export type { CallOptions, PlainpathOptions } from './client-options.ts'
export type { Credentials } from './credentials.ts'
export { Plainpath } from './plainpath.ts'
export { PlainpathError } from './plainpath-error.ts'
