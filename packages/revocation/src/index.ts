export {
  formatRevocation,
  parseNotification,
  type Revocation,
  type RevocationNotification,
} from './notification.ts'
export {
  getRevocationChannel,
  getRevocationKey,
  REVOCATION,
  type RevocationIntervals,
  type RevocationOptions,
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
