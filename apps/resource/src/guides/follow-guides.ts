import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { PackagedGuide } from '@plainpath/guides'
import type { Log } from '@plainpath/http'
import { type Database, listen } from '@plainpath/postgres'
import { readAnswerSwitches, withdrawSections } from './answer-switches.ts'
import {
  type AnswerSwitches,
  type GuideCatalog,
  guideCatalog,
  type PublishedGuides,
  publishedFromRelease,
  type StoredGuides,
} from './guide-catalog.ts'
import { GUIDES_CHANNEL, readGuidesMark, readPublishedGuides, releaseText } from './read-published-guides.ts'

export interface FollowedGuides extends AsyncDisposable {
  /** Returns the current catalog. Call it once per request, so that the response does not mix two catalogs. */
  current(): GuideCatalog
}

export interface FollowOptions {
  readonly db: Database
  /** The database to listen on. */
  readonly url: string
  /** The guides of this release. They are served until the database has been read, and if nothing was ever published. */
  readonly packaged: readonly PackagedGuide[]
  readonly now: () => Date
  readonly log: Log
  /** Called with each new catalog before requests see it, to prepare responses. */
  readonly onChange?: (catalog: GuideCatalog) => void
  /** The interval of polling, in addition to notifications; 1 s when absent. */
  readonly pollMs?: number
}

/**
 * Tracks in memory which guides are published and what operators turned off. A notification or a poll finds a change within a
 * second, and one assignment replaces the whole catalog. While the database is unavailable, the last catalog is served.
 */
export async function followGuides(options: FollowOptions): Promise<FollowedGuides> {
  const { db, url, packaged, now, log, onChange = () => undefined, pollMs = 1_000 } = options
  const textOfRelease = releaseText(packaged)
  const stop = new AbortController()
  let published = publishedFromRelease(packaged)
  let catalog = guideCatalog(published, now)
  onChange(catalog)
  let mark: string | undefined
  let failing = false
  let listener: AsyncDisposable | undefined

  const refresh = oneAtATime(async () => {
    try {
      const newMark = await readGuidesMark(db)
      if (newMark !== mark) {
        const switches = await readAnswerSwitches(db)
        const read = (await readPublishedGuides(db, textOfRelease)) ?? publishedFromRelease(packaged)
        published = reuseUnchanged(withSwitches(read, switches), published)
        const changed = guideCatalog(published, now)
        onChange(changed)
        catalog = changed
        logAltered(read, log)
        mark = newMark
      }
      failing = false
    } catch (error) {
      if (!failing) log.warn('the published guides cannot be read; those in memory are served', { error })
      failing = true
    }
  })
  const listenIfNot = async () => {
    try {
      const refreshNow = () => void refresh()
      listener ??= await listen(url, { [GUIDES_CHANNEL]: refreshNow }, { onReconnected: refreshNow, log })
    } catch {
      // The database is unavailable. `refresh` logs that, and the next round tries again.
    }
  }
  const round = async () => {
    await listenIfNot()
    await refresh()
  }

  await round()
  const rounds = (async () => {
    for (;;) {
      await sleep(pollMs, undefined, { signal: stop.signal, ref: false }).catch(() => undefined)
      if (stop.signal.aborted) return
      await round()
    }
  })()
  return {
    current: () => catalog,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await rounds
      await listener?.[Symbol.asyncDispose]()
      await refresh.settled()
    },
  }
}

/** Applies the switches of operators to the guides. */
const withSwitches = (read: StoredGuides, switches: AnswerSwitches): PublishedGuides => ({
  ...read,
  guides: read.guides.map((guide) => withdrawSections(guide, switches.withdrawnSections)),
  switches,
})

function logAltered({ altered }: StoredGuides, log: Log): void {
  for (const slug of altered)
    log.error('a guide was altered in the store; the text of the release is served', { slug })
}

/** Reuses the objects of guides that did not change, so that responses prepared from them stay valid. */
function reuseUnchanged(read: PublishedGuides, before: PublishedGuides): PublishedGuides {
  const previous = new Map(before.guides.map((guide) => [guide.slug, guide]))
  const guides = read.guides.map((guide) => {
    const unchanged = previous.get(guide.slug)
    return unchanged && isDeepStrictEqual(unchanged, guide) ? unchanged : guide
  })
  return { ...read, guides }
}

/** Wraps `work` so that it never runs twice at the same time. Requests during a run cause one more run, which is recent enough for all of them. */
function oneAtATime(work: () => Promise<void>): { (): Promise<void>; settled(): Promise<void> } {
  let running: Promise<void> | undefined
  let runAgain = false
  const run = async () => {
    do {
      runAgain = false
      await work()
    } while (runAgain)
    running = undefined
  }
  const requestRun = () => {
    if (running) runAgain = true
    running ??= run()
    return running
  }
  return Object.assign(requestRun, { settled: async () => running })
}
