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
export { type CallOptions, type Credentials, Plainpath, type PlainpathOptions } from './plainpath.ts'
export { PlainpathError } from './plainpath-error.ts'
