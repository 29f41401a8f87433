export { type AttorneyItems, loadAttorneyItems } from './attorney-items.ts'
export { checkGuides } from './check-guides.ts'
export { freshnessPeriod, isStale } from './freshness.ts'
export { ATTORNEY_HEADING, withNumberedSources } from './guide-body.ts'
export { type GuideIndex, guideIndex } from './guide-index.ts'
export { type GuideSection, guideSections, headingAnchor, INTRO } from './guide-sections.ts'
export { loadGuides } from './load-guides.ts'
export { type FreshnessNotes, noteFreshness } from './note-freshness.ts'
export { isOfficial } from './official-hosts.ts'
export { type DatedGuide, guideAsOf, type PackagedGuide, StoredGuide } from './packaged-guide.ts'
export {
  parseReadings,
  planRecheck,
  type RecheckedSource,
  type RecheckPlan,
  writeRecheck,
} from './recheck.ts'
export { SYNONYM_WORDS, splitWords, stemWord, toQuestionTerms, toSearchTerms } from './search-terms.ts'
export { type GuideAsks, loadSectionAsks, QUESTION_TYPES, type QuestionType } from './section-asks.ts'
export { describeStatus, freshnessStatus } from './source-status.ts'
export { TRIGGERS_FOLDER } from './triggers-folder.ts'
