/** What one kind of failure means. `oauth` is its code in RFC 6749 bodies, where it is not `invalid_request`. */
export interface ProblemKind {
  readonly status: number
  readonly title: string
  /** What went wrong, for the page `/problems/<code>`. */
  readonly meaning: string
  /** What to do next. */
  readonly remedy: string
  readonly oauth?: string
}
