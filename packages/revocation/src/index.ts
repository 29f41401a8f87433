export { type Ended, type Notice, readNotice, writeEnded } from './notice.ts'
export {
  REVOCATION,
  type RevocationIntervals,
  type RevocationOptions,
  revocationKey,
  revocationNotices,
} from './revocation-options.ts'
export { HEAR, JOIN, LEAVE, LOOK, PENDING, RAISE, type Script, STRIKE_OFF } from './scripts.ts'
