// Does attention point where gradients and leaving words out point? (Jain & Wallace 2019, section
// 4.1.) The first and the last position are left out, as there.
#include <limits>

#include "explain/audit_case.hpp"
#include "heed/explain/importance.hpp"
#include "heed/metrics/rank.hpp"

namespace heed::explain {
namespace {

constexpr double kSignificant = 0.05;

struct Agreement {
  std::vector<double> tau, significant;  // one an example; NaN: there is no order to agree with
};

Agreement agree(const Importances& a, const Importances& b) {
  Agreement result;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto inner = [i](const Importances& x) {
      return x[i].size() > 2 ? std::span(x[i]).subspan(1, x[i].size() - 2)
                             : std::span<const double>();
    };
    const auto tau = metrics::kendall_tau(inner(a), inner(b));
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    result.tau.push_back(tau.value_or(none));
    const bool clear = tau && metrics::kendall_p_value(inner(a), inner(b)) <= kSignificant;
    result.significant.push_back(!tau ? none : clear ? 1 : 0);
  }
  return result;
}

Json agreement_row(const AuditCase& audited, const Importances& a, const Importances& b) {
  const Agreement found = agree(a, b);
  Json row = by_class(audited, found.tau);
  row["significant"] = summary(found.significant)["mean"];
  return row;
}

}  // namespace

Json agreement_test(const AuditCase& audited) {
  const Importances attention = attention_importance(audited.subject, audited.examples);
  const Importances gradient = gradient_importance(audited.subject, audited.examples);
  const Importances omission = leave_one_out(audited.subject, audited.examples);
  return {{"measure", "Kendall's tau-b"},
          {"attention-gradient", agreement_row(audited, attention, gradient)},
          {"attention-leave-one-out", agreement_row(audited, attention, omission)},
          {"gradient-leave-one-out", agreement_row(audited, gradient, omission)}};
}

}  // namespace heed::explain
