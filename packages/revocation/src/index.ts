export {
  formatRevocation,
  parseNotification,
  type Revocation,
  type RevocationNotification,
} from './notification.ts'
export {
  REVOCATION,
  type RevocationIntervals,
  type RevocationOptions,
  revocationChannel,
  revocationKey,
} from './revocation-options.ts'
export {
  ACKNOWLEDGE,
  COUNT_PENDING,
  ENSURE_MARK,
  PUBLISH,
  REMOVE_PENDING,
  type Script,
  SUBSCRIBE,
  UNSUBSCRIBE,
} from './scripts.ts'
