export {
  formatRevocation,
  parseNotification,
  type Revocation,
  type RevocationNotification,
} from './notification.ts'
export {
  getRevocationChannel,
  getRevocationKey,
  MAX_INTROSPECTION_AGE_MS,
  REVOCATION,
  type RevocationIntervals,
  type RevocationOptions,
} from './revocation-options.ts'
export {
  ACKNOWLEDGE_SCRIPT,
  COUNT_PENDING_SCRIPT,
  ENSURE_MARK_SCRIPT,
  PUBLISH_SCRIPT,
  REMOVE_PENDING_SCRIPT,
  type Script,
  SUBSCRIBE_SCRIPT,
  UNSUBSCRIBE_SCRIPT,
} from './scripts.ts'
