"""Names in the scripts of the world, as features and levels have them."""

from __future__ import annotations

SCRIPTS = {
    "Han": "每月收入（元）客户满意度",
    "Japanese": "月間カタカナひらがな漢字",
    "Hangul": "고객 만족도 지수",
    "Arabic": "الدخل الشهري للعميل",
    "Hebrew": "הכנסה חודשית",
    "Devanagari": "मासिक आय क्षेत्र",
    "Bengali": "মাসিক আয় গ্রাহক",
    "Tamil": "மாத வருமானம்",
    "Thai": "รายได้ต่อเดือนที่",
    "Georgian": "თვიური შემოსავალი",
    "Armenian": "Ամսական եկամուտ",
    "Greek": "Μηνιαίο εισόδημα",
    "Cyrillic": "Ежемесячный доход",
    "Vietnamese": "Thu nhập hằng tháng ở Huế",
    "Decomposed": "Thu nha\u0323\u0302p ha\u0306\u0300ng tha\u0301ng",
    "Ethiopic": "ወርሃዊ ገቢ",
    "Khmer": "ប្រាក់ចំណូលប្រចាំខែ",
    "Lao": "ລາຍໄດ້ຕໍ່ເດືອນ",
    "Myanmar": "လစဉ်ဝင်ငွေ",
    "Sinhala": "මාසික ආදායම",
    "Emoji": "😀🚀❤️👩‍💻",
    "Mathematical": "𝛼 ≤ ∑𝑥² ∈ ℝ 𝔸",
}
