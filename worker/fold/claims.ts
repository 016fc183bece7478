type Claim = {
  /** The claiming identify is older than the stored values, so it gives way to any other claim. */
  isLate: boolean
  apply: () => void
  /** Called when another claim of the same submission replaces this one. */
  displace?: () => void
}

/**
 * The claims of one submission, by claimed email, domain or name. They take effect at the end of
 * the submission. The last claim of a value counts.
 */
export class Claims {
  readonly #claims = new Map<string, Claim>()

  set(claimed: string, claim: Claim): void {
    const former = this.#claims.get(claimed)
    if (former !== undefined && claim.isLate) {
      claim.displace?.()
      return
    }
    former?.displace?.()
    this.#claims.set(claimed, claim)
  }

  applyAll(): void {
    for (const { apply } of this.#claims.values()) apply()
  }
}
