import type { Log } from '@plainpath/http'

/** What a person had erased; a log names it by its id. */
type Erased = 'entry' | 'message'
export type TellErased = (what: Erased, id: string) => void

/**
 * Writes a line for what a person had erased, by its random id, which says nothing once the row is gone. A log is not in a
 * backup of the database: `resource replay` reads there what a restore brings back.
 *
 * @param operator whoever runs a command; absent in the server
 */
export const erasureTeller =
  (log: Log, operator?: { readonly user: string; readonly host: string }): TellErased =>
  (what, id) =>
    log.info('security event', {
      event: `${what}-erased`,
      [`${what}_id`]: id,
      ...(operator && { by: 'operator', ...operator }),
    })
